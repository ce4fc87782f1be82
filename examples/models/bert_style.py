"""An encoder in the style of BERT: layer norm after each part, GELU, a padding mask, with random weights.

    autokernel profile examples/models/bert_style.py                     (build; smaller on a CPU)
    autokernel profile examples/models/bert_style.py:Encoder --input 8x512:int64 --input 8:int64:1..512
"""
import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, mask):
        q, k, v = (part(x).view(*x.shape[:2], self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.attention_norm(self.out(mixed.transpose(1, 2).reshape(x.shape)) + x)
        return self.mlp_norm(self.down(F.gelu(self.up(x))) + x)


class Encoder(nn.Module):
    def __init__(self, layers=12, width=768, heads=12, vocabulary=30522, length=512):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))

    def forward(self, tokens, lengths):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.tokens(tokens) + self.positions(places))
        hidden = places[None] >= lengths[:, None]
        mask = torch.zeros(hidden.shape, device=x.device, dtype=x.dtype).masked_fill(hidden, float("-inf"))
        mask = mask[:, None, None].expand(-1, 1, tokens.shape[1], -1)
        for layer in self.layers:
            x = layer(x, mask)
        return x


def build(device, dtype):
    small = device == "cpu"
    model = Encoder(layers=2, width=96, heads=4, vocabulary=1000, length=32) if small else Encoder()
    batch, length = 2 if small else 8, model.positions.num_embeddings
    tokens = torch.randint(model.tokens.num_embeddings, (batch, length), device=device)
    lengths = torch.randint(1, length + 1, (batch,), device=device)
    return model.to(device, dtype), (tokens, lengths)
