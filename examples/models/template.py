"""A model for `autokernel profile`: copy this file and put your own model into it. Each of these is a way to name it:

    autokernel profile my_model.py                                       build(device, dtype)
    autokernel profile my_model.py:Network --input 32x256                the class; --arg hidden=512 for its constructor
    autokernel profile my_model.py:make                                  a function that returns (module, args, kwargs)
"""
import torch


class Network(torch.nn.Module):
    def __init__(self, width=256, hidden=1024):
        super().__init__()
        self.up, self.down = torch.nn.Linear(width, hidden), torch.nn.Linear(hidden, width)

    def forward(self, x, scale=1.0):
        return self.down(torch.nn.functional.gelu(self.up(x))) * scale


def make():
    """Put on the device and into the dtype of the command line by autokernel."""
    return Network(), (torch.randn(32, 256),), {"scale": 0.5}


def build(device, dtype):
    """For models that must be made where they run: (model, inputs), both on `device`."""
    return Network().to(device, dtype), (torch.randn(32, 256, device=device, dtype=dtype),)
