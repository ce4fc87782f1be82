"""PyTorch's side of the family rotary_embedding: what our kernels are compared with, and what takes the op's place.

Tensors and flags arrive by the names of op.toml: x [B, H, S, D], cos and sin [B or 1, S, D / 2].
"""
import torch


def _split(x, interleaved):
    return (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)


def _join(y1, y2, interleaved):
    return torch.stack((y1, y2), -1).flatten(-2) if interleaved else torch.cat((y1, y2), -1)


def eager(x, cos, sin, *, INTERLEAVED=0, COS_BATCH=0):
    """As models write it: full tables, a rotated copy of x, and every step rounded to the tensor's type."""
    tables = [_join(table, table, INTERLEAVED)[:, None] for table in (cos, sin)]
    x1, x2 = _split(x, INTERLEAVED)
    return x * tables[0] + _join(-x2, x1, INTERLEAVED) * tables[1]


def fused(x, cos, sin, *, INTERLEAVED=0, COS_BATCH=0):
    """PyTorch has no single call; this form makes no rotated copy and no full tables."""
    x1, x2 = _split(x, INTERLEAVED)
    cos, sin = cos[:, None], sin[:, None]
    return _join(torch.addcmul(x1 * cos, x2, sin, value=-1), torch.addcmul(x2 * cos, x1, sin), INTERLEAVED)


def replacement(launch, x, cos, sin, *, INTERLEAVED=0, COS_BATCH=0):
    """The op with a tuned kernel: `launch(tensors, flags, scalars)` runs it on PyTorch's current stream.

    Tables [.., D] of two equal halves are read by their first half; a dim of 1 for the heads is dropped.
    """
    size = x.shape[-1]
    tables = []
    for table in (cos, sin):
        if table.shape[-1] == size:
            table = table[..., : size // 2]
        tables.append(table.reshape(x.shape[0] if COS_BATCH else 1, x.shape[-2], size // 2).contiguous())
    x = x.contiguous()
    y = torch.empty_like(x)
    flags = {"INTERLEAVED": INTERLEAVED, "COS_BATCH": COS_BATCH}
    launch({"x": x, "cos": tables[0], "sin": tables[1], "y": y}, flags, {})
    return y
