"""A decoder in the style of LLaMA: RMSNorm, rotary embedding, grouped-query attention, SwiGLU, as models write them by
hand, with random weights.

    autokernel profile examples/models/llama_style.py                    (build; smaller on a CPU)
    autokernel profile examples/models/llama_style.py:Decoder --input 1x1024:int64 --arg layers=8
"""
import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def rotary(x, cos, sin):
    return x * cos + rotate_half(x) * sin


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.head_size = heads, kv_heads, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, kv_heads * self.head_size, bias=False)
        self.v = nn.Linear(width, kv_heads * self.head_size, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def split(self, x, heads):
        return x.view(x.shape[0], x.shape[1], heads, self.head_size).transpose(1, 2)

    def forward(self, x, cos, sin):
        q = rotary(self.split(self.q(x), self.heads), cos, sin)
        k = rotary(self.split(self.k(x), self.kv_heads), cos, sin)
        v = self.split(self.v(x), self.kv_heads)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class SwiGLU(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden):
        super().__init__()
        self.attention_norm, self.attention = RMSNorm(width), Attention(width, heads, kv_heads)
        self.mlp_norm, self.mlp = RMSNorm(width), SwiGLU(width, hidden)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.mlp(self.mlp_norm(x))


class Decoder(nn.Module):
    def __init__(self, layers=4, width=2048, heads=32, kv_heads=8, hidden=5504, vocabulary=32000):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, heads, kv_heads, hidden) for _ in range(layers))
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head_size = width // heads

    def tables(self, length, x):
        rates = 10000.0 ** (-torch.arange(0, self.head_size, 2, device=x.device).float() / self.head_size)
        angles = torch.outer(torch.arange(length, device=x.device).float(), rates)
        angles = torch.cat((angles, angles), dim=-1)[None, None]
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)

    def forward(self, tokens):
        x = self.embed(tokens)
        cos, sin = self.tables(tokens.shape[1], x)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


def build(device, dtype):
    small = device == "cpu"
    model = Decoder(layers=2, width=128, heads=8, kv_heads=2, hidden=352, vocabulary=1000) if small else Decoder()
    tokens = torch.randint(model.embed.num_embeddings, (1, 64 if small else 1024), device=device)
    return model.to(device, dtype), (tokens,)
