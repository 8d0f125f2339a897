"""A small decoder written the usual way, whose parts are functions to be overridden: right as it stands.

H heads of width d. Sizes: vocabulary V = 12, context T = 12, width D = 16 in 2 heads, 2 layers.
"""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

V, T, D, H, LAYERS = 12, 12, 16, 2, 2


class Block(nn.Module):
    """Pre-norm: x (B, T, D) -> (B, T, D)."""

    norm: Callable[[int], nn.Module] = nn.LayerNorm

    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = self.norm(D), self.norm(D)
        self.c_attn, self.c_proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> Tensor:
        x = x + self.attend(self.ln_1(x), hidden)
        return x + self.mlp(self.ln_2(x))

    def attend(self, x: Tensor, hidden: Tensor | None) -> Tensor:
        """All heads, x (B, T, D) -> (B, T, D); ``hidden`` (B, T) marks keys that are padding."""
        q, k, v = self.qkv(x)
        q, k = self.turned(q), self.turned(k)
        y = self.weights(q @ k.mT / math.sqrt(q.shape[-1]), hidden) @ v
        return self.c_proj(y.transpose(1, 2).flatten(2))

    def qkv(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values (B, H, T, d)."""
        return tuple(part.unflatten(-1, (H, -1)).transpose(1, 2) for part in self.c_attn(x).split(D, dim=-1))

    def turned(self, heads: Tensor) -> Tensor:
        """Queries or keys (B, H, T, d), told their places."""
        return heads

    def weights(self, scores: Tensor, hidden: Tensor | None) -> Tensor:
        """Scores (B, H, T, T) -> weights whose rows sum to 1."""
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        if hidden is not None:
            allowed = allowed & ~hidden[:, None, None] | torch.eye(scores.shape[-1], dtype=torch.bool)
        return scores.masked_fill(~allowed, -torch.inf).softmax(dim=-1)


class Decoder(nn.Module):
    """Token and place embeddings, two blocks, a norm and a head of its own: ids (B, T) -> logits (B, T, V)."""

    block: type[Block] = Block

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(vocab_size=V, max_position_embeddings=T)
        self.wte, self.wpe = nn.Embedding(V, D), nn.Embedding(T, D)
        self.h, self.ln_f = nn.ModuleList(self.block() for _ in range(LAYERS)), self.block.norm(D)
        self.lm_head = nn.Linear(D, V, bias=False)
        for table in (self.wte, self.wpe, self.lm_head):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids: Tensor) -> Any:
        return self.logits(self.features(ids))

    def features(self, ids: Tensor, places: Tensor | None = None, hidden: Tensor | None = None) -> Tensor:
        """What the head reads, (B, T, D); ``hidden`` (B, T) marks keys that are padding."""
        x = self.embedded(ids, torch.arange(ids.shape[1]) if places is None else places)
        for block in self.layers:
            x = block(x, hidden)
        return self.ln_f(x)

    @property
    def layers(self) -> list[Block]:
        """The blocks, by their type."""
        return [layer for layer in self.h if isinstance(layer, Block)]

    def embedded(self, ids: Tensor, places: Tensor) -> Tensor:
        """What the first block reads, (B, T, D)."""
        return self.wte(ids) + self.wpe(places)

    def logits(self, x: Tensor) -> Tensor:
        """What the head makes of features (B, T, D)."""
        return self.lm_head(x)


class Padded(Decoder):
    """Takes a padding mask (B, T) of 0 and 1, beside the causal one."""

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        if attention_mask is None:
            return self.logits(self.features(ids))
        return self.logits(self.features(ids, self.places(attention_mask), attention_mask == 0))

    def places(self, attention_mask: Tensor) -> Tensor:
        """The place of each token among the real ones, (B, T)."""
        return (attention_mask.cumsum(dim=-1) - 1).clamp(min=0)
