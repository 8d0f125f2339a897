"""Causal multi-head self-attention, by the fused kernel and by its formula; heads made in two ways.

H heads of width d = D / H for the queries, G ≤ H of the same width for keys and values, each shared by
H / G neighbouring heads (grouped queries, Ainslie et al. 2023; G = H is plain multi-head attention).
"""

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model.cache import Past
from blockproof.model.init import HeadProjection, OutputProjection
from blockproof.model.position import Position
from blockproof.model.variant import Variant

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class CausalSelfAttention(Variant, nn.Module):
    """softmax(q kᵀ / sqrt(d) + mask) v for each head. Vaswani et al. 2017, section 3.2.

    x: (B, T, D) -> (B, T, D). Position t attends to positions 0 … t; with a past, the T tokens are the
    last of S. Dropout acts on the weights, and apart from that on the output. Subclasses say how queries,
    keys and values are made.
    """

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__()
        self.n_heads, self.n_kv_heads = config.attention.n_heads, config.attention.kv_heads
        self.sharing = self.n_heads // self.n_kv_heads  # queries that share a key
        self.dropout = config.attention.dropout
        self.build_heads(config)
        self.output = OutputProjection(config.d_model, config.d_model, bias=config.attention.output_bias)
        self.output_dropout = nn.Dropout(config.attention.output_dropout)

    def build_heads(self, config: "ModelConfig") -> None:
        """Make the projections; the output's is made after them, in the data's order."""
        raise NotImplementedError

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, H, T, d), keys and values (B, G, T, d), not yet told their places."""
        raise NotImplementedError

    def forward(self, x: Tensor, position: Position, past: Past | None = None) -> Tensor:
        q, k, v, bias, hidden = self.prepare(x, position, past)
        # The functional kernel does not know module.training, so the rate is ours to switch.
        rate = self.dropout if self.training else 0.0
        mask = None if bias is None else bias.masked_fill(hidden, -torch.inf)
        if past is not None and mask is None:  # is_causal would take the first query for the first token
            mask = ~hidden
        y = F.scaled_dot_product_attention(
            q, k, v, mask, dropout_p=rate, is_causal=mask is None, enable_gqa=self.sharing > 1
        )
        return self.output_dropout(self.output(merge_heads(y)))

    def explicit(self, x: Tensor, position: Position, past: Past | None = None) -> tuple[Tensor, Tensor]:
        """The same map written out.

        Returns:
            The output (B, T, D) and the weights (B, H, T, S) before dropout: each row sums to 1
            and is exactly 0 for keys after the query.
        """
        q, k, v, bias, hidden = self.prepare(x, position, past)
        k, v = (part.repeat_interleave(self.sharing, dim=1) for part in (k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (B, H, T, S)
        scores = scores if bias is None else scores + bias
        weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
        y = F.dropout(weights, self.dropout, self.training) @ v
        return self.output_dropout(self.output(merge_heads(y))), weights

    def prepare(
        self, x: Tensor, position: Position, past: Past | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor]:
        """What the new tokens ask of all: the past takes them in, if there is one.

        Returns:
            Queries (B, H, T, d), keys and values (B, G, S, d), a bias of the scores (H, T, S) if the
            position has one, and what is hidden, (T, S).
        """
        start = 0 if past is None else past.length
        keys = torch.arange(start + x.shape[1], device=x.device)  # places (S,)
        queries = keys[start:]  # (T,)
        q, k, v = self.heads(x)
        q, k = position.rotate(q, queries), position.rotate(k, queries)
        k, v = (k, v) if past is None else past.append(k, v)
        bias = position.bias(queries, keys)
        return q, k, v, None if bias is None else bias.to(q.dtype), future(queries, keys)


class FusedHeads(CausalSelfAttention):
    """One matrix makes the queries, keys and values of all heads."""

    def build_heads(self, config: "ModelConfig") -> None:
        rows = {"query": config.d_model, "key": config.d_kv, "value": config.d_kv}
        self.qkv = HeadProjection(config.d_model, rows, bias=config.attention.qkv_bias)

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.qkv(x).split(list(self.qkv.rows.values()), dim=-1)
        return split_heads(q, self.n_heads), split_heads(k, self.n_kv_heads), split_heads(v, self.n_kv_heads)


class SeparateHeads(CausalSelfAttention):
    """A small matrix for each head and role, as it is first taught: the same map, head by head."""

    def build_heads(self, config: "ModelConfig") -> None:
        def projections(role: str, number: int) -> nn.ModuleList:
            bias = config.attention.qkv_bias
            one = ({role: config.d_head} for _ in range(number))
            return nn.ModuleList(HeadProjection(config.d_model, rows, bias=bias) for rows in one)

        self.query = projections("query", self.n_heads)
        self.key = projections("key", self.n_kv_heads)
        self.value = projections("value", self.n_kv_heads)

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = (
            torch.stack([project(x) for project in role], dim=1)
            for role in (self.query, self.key, self.value)
        )
        return q, k, v


ATTENTIONS: dict[str, type[CausalSelfAttention] | None] = {
    "fused": FusedHeads,
    "separate": SeparateHeads,
    "none": None,
}


def future(queries: Tensor, keys: Tensor) -> Tensor:
    """(T, S), true where a key stands after the query, by the places of queries (T,) and keys (S,)."""
    return keys > queries[:, None]


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, H d) -> (B, H, T, d)."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, d) -> (B, T, H d)."""
    return x.transpose(1, 2).flatten(start_dim=2)
