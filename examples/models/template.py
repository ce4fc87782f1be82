"""A model for `autokernel profile`: copy this file and put your own model into it.

    autokernel profile my_model.py
"""
import torch


def build(device, dtype):
    """(model, inputs): what is called, and the tuple of its arguments, both on `device`."""
    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))
    return model.to(device, dtype), (torch.randn(32, 256, device=device, dtype=dtype),)
