"""PyTorch's side of the family conv2d: what our kernels are compared with, and what takes the op's place.

Tensors, flags and scalars arrive by the names of op.toml; an optional tensor that is absent is None. With NHWC = 1 the
tensors are stored [N, H, W, C] (w: [K, R, S, C / GROUPS]); PyTorch sees the same bytes as a channels_last tensor.
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


def _as_torch(tensor, nhwc):
    """[N, H, W, C] as PyTorch's [N, C, H, W] with channels_last strides: a view, no copy."""
    return tensor.permute(0, 3, 1, 2) if nhwc and tensor is not None else tensor


def _convolve(x, w, bias, residual, flags, groups):
    nhwc = flags.get("NHWC", 0)
    y = F.conv2d(
        _as_torch(x, nhwc),
        _as_torch(w, nhwc),
        bias,
        stride=(flags.get("STRIDE_H", 1), flags.get("STRIDE_W", 1)),
        padding=(flags.get("PAD_H", 0), flags.get("PAD_W", 0)),
        dilation=(flags.get("DILATION_H", 1), flags.get("DILATION_W", 1)),
        groups=groups,
    )
    if residual is not None:
        y = y + _as_torch(residual, nhwc)
    y = _ACTIVATIONS[flags.get("ACT", 0)](y)
    return y.permute(0, 2, 3, 1) if nhwc else y


def eager(x, w, bias=None, residual=None, *, GROUPS=1, **flags):
    """Convolution, bias, residual and activation, each an operation of its own."""
    nhwc = flags.get("NHWC", 0)
    plain = _convolve(x, w, None, None, {**flags, "ACT": 0}, GROUPS)
    if bias is not None:
        plain = plain + (bias if nhwc else bias.view(-1, 1, 1))
    if residual is not None:
        plain = plain + residual
    return _ACTIVATIONS[flags.get("ACT", 0)](plain)


def fused(x, w, bias=None, residual=None, *, GROUPS=1, **flags):
    """The bias given to the convolution itself, as nn.Conv2d does; residual and activation after it."""
    return _convolve(x, w, bias, residual, flags, GROUPS)


def replacement(launch, x, w, bias=None, residual=None, *, GROUPS=1, **flags):
    """The op with a tuned kernel: `launch(tensors, flags, scalars)` runs it on PyTorch's current stream.

    x, w and residual are PyTorch's [N, C, H, W]; with NHWC = 1 they are read, and y is made, in channels_last.
    """
    nhwc = flags.get("NHWC", 0)

    def stored(tensor):
        if tensor is None:
            return None
        return tensor.permute(0, 2, 3, 1).contiguous() if nhwc else tensor.contiguous()

    def extent(size, taps, axis):
        reach = flags.get("DILATION_" + axis, 1) * (taps - 1) + 1
        return (size + 2 * flags.get("PAD_" + axis, 0) - reach) // flags.get("STRIDE_" + axis, 1) + 1

    p, q = extent(x.shape[2], w.shape[2], "H"), extent(x.shape[3], w.shape[3], "W")
    shape = (x.shape[0], p, q, w.shape[0]) if nhwc else (x.shape[0], w.shape[0], p, q)
    y = torch.empty(shape, dtype=x.dtype, device=x.device)
    tensors = {"x": stored(x), "w": stored(w), "bias": bias, "residual": stored(residual), "y": y}
    launch(tensors, flags, {})
    return _as_torch(y, nhwc)
