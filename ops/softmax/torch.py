"""PyTorch's side of the family softmax: what our kernels are compared with, and what takes the op's place.

Tensors, flags and scalars arrive by the names of op.toml; an optional tensor that is absent is None.
"""
import torch


def eager(x, mask=None, *, scale=1.0, MASK_ROWS=0):
    """One kernel per operation: scale, mask, maximum, difference, exponential, sum, division."""
    logits = x if scale == 1.0 else x * scale
    if mask is not None:
        logits = logits + mask
    exponentials = torch.exp(logits - logits.amax(-1, keepdim=True))
    return exponentials / exponentials.sum(-1, keepdim=True)


def fused(x, mask=None, *, scale=1.0, MASK_ROWS=0):
    """PyTorch's own softmax kernel; scale and mask are kernels before it."""
    logits = x if scale == 1.0 else x * scale
    if mask is not None:
        logits = logits + mask
    return torch.softmax(logits, dim=-1)


def replacement(launch, x, mask=None, *, scale=1.0, MASK_ROWS=0):
    """The op with a tuned kernel: `launch(tensors, flags, scalars)` runs it on PyTorch's current stream.

    Leading dims become rows; a mask must broadcast to one row, or have one for each.
    """
    rows = x.reshape(-1, x.shape[-1]).contiguous()
    if mask is not None:
        mask = mask.expand(x.shape).reshape(rows.shape) if MASK_ROWS else mask.reshape(1, rows.shape[-1])
        mask = mask.contiguous()
    y = torch.empty_like(rows)
    launch({"x": rows, "mask": mask, "y": y}, {"MASK_ROWS": MASK_ROWS}, {"scale": scale})
    return y.view(x.shape)
