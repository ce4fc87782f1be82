"""LLaMA of the transformers library, four layers of hidden size 2048 with grouped queries and random weights.

    autokernel profile examples/models/transformers_llama.py --dtype bf16
"""
import torch
from transformers import LlamaConfig, LlamaForCausalLM


def build(device, dtype):
    config = LlamaConfig(hidden_size=2048, intermediate_size=5504, num_hidden_layers=4, num_attention_heads=32,
                         num_key_value_heads=8, vocab_size=32000)
    model = LlamaForCausalLM(config).to(device, dtype).eval()
    tokens = torch.randint(config.vocab_size, (1, 1024), device=device)
    return model, (tokens,), {"use_cache": False}
