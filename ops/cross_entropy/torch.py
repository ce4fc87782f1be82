"""PyTorch's side of the family cross_entropy: what our kernels are compared with, and what takes the op's place.

Tensors, flags and scalars arrive by the names of op.toml. `eager` and `fused` return the loss in the dtype that PyTorch gives
it, the logits'; REDUCTION 0 has one a row, else it is a single number.
"""
import torch
import torch.nn.functional as F

_REDUCTIONS = ("none", "mean", "sum")


def eager(logits, targets, *, REDUCTION=0, IGNORE=-100):
    """One kernel per operation, the logarithms of the probabilities taken in float32, as careful models do."""
    wide = logits.float()
    shifted = wide - wide.amax(-1, keepdim=True)
    logs = shifted - shifted.exp().sum(-1, keepdim=True).log()
    kept = targets != IGNORE
    picked = logs.gather(-1, targets.where(kept, 0)[:, None])[:, 0]
    losses = torch.where(kept, -picked, 0.0)
    if REDUCTION == 1:
        losses = losses.sum() / kept.sum()
    elif REDUCTION == 2:
        losses = losses.sum()
    return losses.to(logits.dtype)


def fused(logits, targets, *, REDUCTION=0, IGNORE=-100):
    """PyTorch's own call: a log-softmax, whose result is stored, and a negative log likelihood."""
    return F.cross_entropy(logits, targets, ignore_index=IGNORE, reduction=_REDUCTIONS[REDUCTION])


def replacement(launch, logits, targets, *, REDUCTION=0, IGNORE=-100):
    """The op with a tuned kernel: `launch(tensors, flags, scalars)` runs it on PyTorch's current stream.

    Logits are [ROWS, V]. The kernel's loss is float32; what is returned has PyTorch's dtype and shape.
    """
    if logits.dim() != 2:
        raise ValueError(f"not supported yet: logits of {logits.dim()} dims; expected [ROWS, V]")
    loss = torch.empty(1 if REDUCTION else logits.shape[0], dtype=torch.float32, device=logits.device)
    tensors = {"logits": logits.contiguous(), "targets": targets.contiguous(), "loss": loss}
    launch(tensors, {"REDUCTION": REDUCTION}, {"IGNORE": IGNORE})
    return loss.to(logits.dtype).view([] if REDUCTION else targets.shape)
