"""Causal multi-head self-attention, twice: by the fused kernel, and by its formula."""

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model.init import OutputProjection

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class CausalSelfAttention(nn.Module):
    """softmax(q kᵀ / sqrt(d_head) + mask) v for each head. Vaswani et al. 2017, section 3.2.

    x: (B, T, D) -> (B, T, D). Position t attends to positions 0 … t. Dropout acts on the weights.
    """

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.dropout = config.dropout
        self.qkv = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.output = OutputProjection(config.d_model, config.d_model, bias=config.bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.heads(x)
        # The functional kernel does not know module.training, so the rate is ours to switch.
        rate = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=True)
        return self.output(merge_heads(y))

    def explicit(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The same map written out.

        Returns:
            The output (B, T, D) and the weights (B, H, T, T) before dropout: each row sums to 1
            and is exactly 0 above the diagonal.
        """
        q, k, v = self.heads(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (B, H, T, T)
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(diagonal=1)
        weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
        y = F.dropout(weights, self.dropout, self.training) @ v
        return self.output(merge_heads(y)), weights

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, each (B, H, T, D / H)."""
        q, k, v = (split_heads(part, self.n_heads) for part in self.qkv(x).chunk(3, dim=-1))
        return q, k, v


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, D) -> (B, H, T, D / H)."""
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, D / H) -> (B, T, D)."""
    return x.transpose(1, 2).flatten(start_dim=2)
