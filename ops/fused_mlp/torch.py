"""PyTorch's side of the family fused_mlp: what our kernels are compared with, and what takes the op's place.

Tensors and flags arrive by the names of op.toml. Weights are stored as nn.Linear stores them: w_gate and w_up are [H, D],
w_down is [D, H]. There is no `fused`: PyTorch has no single call for this op.
"""
import torch
import torch.nn.functional as F

_ACTIVATIONS = (
    lambda z: z,
    torch.relu,
    lambda z: F.gelu(z, approximate="tanh"),
    F.gelu,
    F.silu,
)


def eager(x, w_gate, w_up, w_down, *, ACT=0):
    """As models write it: three linears, an activation and a product."""
    return F.linear(_ACTIVATIONS[ACT](F.linear(x, w_gate)) * F.linear(x, w_up), w_down)


def replacement(launch, x, w_gate, w_up, w_down, *, ACT=0):
    """The op with a tuned kernel: `launch(tensors, flags, scalars)` runs it on PyTorch's current stream.

    Leading dims of x become rows.
    """
    rows = x.reshape(-1, x.shape[-1]).contiguous()
    y = torch.empty_like(rows)
    weights = {"w_gate": w_gate.contiguous(), "w_up": w_up.contiguous(), "w_down": w_down.contiguous()}
    launch({"x": rows, **weights, "y": y}, {"ACT": ACT}, {})
    return y.view(x.shape)
