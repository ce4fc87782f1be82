"""PyTorch's side of the family flash_attention: what our kernels are compared with, and what takes the op's place.

Tensors, flags and scalars arrive by the names of op.toml; an optional tensor that is absent is None. q is [B, HQ, LQ, D],
k and v are [B, HKV, LK, D]; scale = None means 1 / sqrt(D).
"""
import torch
import torch.nn.functional as F


def _hidden(q, k, causal):
    """True where CAUSAL hides a key from a query, [LQ, LK]; None where it hides nothing."""
    if causal == 0:
        return None
    queries, keys = q.shape[-2], k.shape[-2]
    shift = keys - queries if causal == 2 else 0
    return torch.ones(queries, keys, dtype=torch.bool, device=q.device).triu(1 + shift)


def eager(q, k, v, mask=None, *, scale=None, CAUSAL=0, MASK_BATCH=0, MASK_HEADS=0):
    """Scores, mask, softmax and the weighted sum as operations of their own; a query that sees nothing gives 0."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = (q @ k.mT) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores + mask
    hidden = _hidden(q, k, CAUSAL)
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights.masked_fill((scores == float("-inf")).all(-1, keepdim=True), 0) @ v


def fused(q, k, v, mask=None, *, scale=None, CAUSAL=0, MASK_BATCH=0, MASK_HEADS=0):
    """PyTorch's own attention. Its is_causal is the top-left one and excludes a mask; else the mask says what is hidden."""
    gqa = q.shape[1] != k.shape[1]
    square = q.shape[-2] == k.shape[-2]
    if mask is None and (CAUSAL != 2 or square):
        return F.scaled_dot_product_attention(q, k, v, is_causal=CAUSAL != 0, scale=scale, enable_gqa=gqa)
    hidden = _hidden(q, k, CAUSAL)
    if hidden is not None:
        added = torch.zeros(hidden.shape, dtype=q.dtype, device=q.device) if mask is None else mask
        mask = added.masked_fill(hidden, float("-inf"))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=gqa)


def replacement(launch, q, k, v, mask=None, *, scale=None, CAUSAL=0, MASK_BATCH=0, MASK_HEADS=0):
    """The op with a tuned kernel: `launch(tensors, flags, scalars)` runs it on PyTorch's current stream.

    A mask must broadcast to [B or 1, HQ or 1, LQ, LK] and have q's dtype: PyTorch's boolean masks are added ones first.
    """
    if q.dim() != 4:
        raise ValueError(f"not supported yet: attention over tensors of {q.dim()} dims, expected [B, heads, L, D]")
    if mask is not None:
        if mask.dtype == torch.bool:
            mask = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(~mask, float("-inf"))
        shape = (q.shape[0] if MASK_BATCH else 1, q.shape[1] if MASK_HEADS else 1, q.shape[2], k.shape[2])
        mask = mask.expand(shape).contiguous()
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    tensors = {"q": q.contiguous(), "k": k.contiguous(), "v": v.contiguous(), "mask": mask, "o": o}
    flags = {"CAUSAL": CAUSAL, "MASK_BATCH": MASK_BATCH, "MASK_HEADS": MASK_HEADS}
    launch(tensors, flags, {"scale": q.shape[-1] ** -0.5 if scale is None else scale})
    return o
