"""PyTorch's side of the family matmul: what our kernels are compared with, and what takes the op's place.

Tensors, flags and scalars arrive by the names of op.toml; an optional tensor that is absent is None. Operands have three
dims, [BATCH, rows, columns], as they are stored: TRANS_A = 1 means that a is [BATCH, K, M].
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


def eager(a, b, bias=None, *, TRANS_A=0, TRANS_B=0, ACT=0):
    """Product, bias and activation as three operations."""
    product = torch.matmul(a.mT if TRANS_A else a, b.mT if TRANS_B else b)
    if bias is not None:
        product = product + bias
    return _ACTIVATIONS[ACT](product)


def fused(a, b, bias=None, *, TRANS_A=0, TRANS_B=0, ACT=0):
    """The bias added by the library's own epilogue (baddbmm, addmm), the activation after it."""
    a = a.mT if TRANS_A else a
    b = b.mT if TRANS_B else b
    if bias is None:
        product = torch.bmm(a, b)
    elif a.shape[0] == 1:
        product = torch.addmm(bias, a[0], b[0])[None]
    else:
        product = torch.baddbmm(bias, a, b)
    return _ACTIVATIONS[ACT](product)


def replacement(launch, a, b, bias=None, *, TRANS_A=0, TRANS_B=0, ACT=0):
    """The op with a tuned kernel: `launch(tensors, flags, scalars)` runs it on PyTorch's current stream.

    With a of one matrix per leading dims and a single b (nn.Linear), the leading dims of a become rows.
    """
    rows_of_linear = b.dim() == 2 and not TRANS_A
    stored_a = a.reshape(1, -1, a.shape[-1]) if rows_of_linear else a.reshape(-1, *a.shape[-2:])
    stored_b = b.reshape(-1, *b.shape[-2:])
    if stored_a.shape[0] != stored_b.shape[0]:
        raise ValueError("not supported yet: operands of different batch sizes")
    rows = stored_a.shape[2] if TRANS_A else stored_a.shape[1]
    columns = stored_b.shape[1] if TRANS_B else stored_b.shape[2]
    c = torch.empty((stored_a.shape[0], rows, columns), dtype=a.dtype, device=a.device)
    tensors = {
        "a": stored_a.contiguous(),
        "b": stored_b.contiguous(),
        "bias": None if bias is None else bias.contiguous(),
        "c": c,
    }
    launch(tensors, {"TRANS_A": TRANS_A, "TRANS_B": TRANS_B, "ACT": ACT}, {})
    if rows_of_linear:
        return c.view(*a.shape[:-1], columns)
    return c.view(*a.shape[:-2], rows, columns)
