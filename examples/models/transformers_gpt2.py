"""GPT-2 of the transformers library, four layers with random weights, one sequence of 1024 tokens.

    autokernel profile examples/models/transformers_gpt2.py --dtype f16

The same without a file:

    autokernel profile --module transformers --factory AutoModelForCausalLM.from_config --config GPT2Config \\
        --config-arg n_layer=4 --input 1x1024:int64 --keyword use_cache=false --dtype f16
"""
import torch
from transformers import GPT2Config, GPT2LMHeadModel


def build(device, dtype):
    model = GPT2LMHeadModel(GPT2Config(n_layer=4)).to(device, dtype).eval()
    tokens = torch.randint(model.config.vocab_size, (1, 1024), device=device)
    return model, (tokens,), {"use_cache": False}
