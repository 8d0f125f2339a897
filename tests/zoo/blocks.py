"""Blocks that look wrong and are right; D features in H heads of width d, T tokens."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from blockproof.tests.zoo.decoder import Block, Decoder


class Forbidden(Block):
    """Its mask says who must not look where."""

    def weights(self, scores: Tensor, hidden: Tensor | None) -> Tensor:
        forbidden = torch.ones(scores.shape[-2:]).triu(diagonal=1) == 1
        return scores.masked_fill(forbidden, -torch.inf).softmax(dim=-1)


class Renormalised(Block):
    """Masks the weights instead of the scores, and divides by what is left."""

    def weights(self, scores: Tensor, hidden: Tensor | None) -> Tensor:
        kept = scores.softmax(dim=-1).tril()
        return kept / kept.sum(dim=-1, keepdim=True)


class Alias(Block):
    """Gives the name ``residual`` away twice; both tensors stay as they were."""

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> Tensor:
        residual = x
        x = self.attend(self.ln_1(x), hidden)
        residual = x = residual + x
        x = self.mlp(self.ln_2(x))
        return residual + x


class SkipAfterNorm(Block):
    """Takes the skip where the norm has been: post-norm, but for where a block is said to begin."""

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> Tensor:
        x = self.ln_1(x)
        x = self.ln_2(x + self.attend(x, hidden))
        return x + self.mlp(x)


class TokenNorm(nn.Module):
    """Mean and variance over the features of a token alone, by hand: x (B, T, D) -> (B, T, D)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred / (centred.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() * self.weight + self.bias


class NormByHand(Block):
    """With ``TokenNorm``."""

    norm = TokenNorm


class HalfSplit(Block):
    """Rotary positions that turn the pairs (i, i + d/2)."""

    def turned(self, heads: Tensor) -> Tensor:
        cos, sin = _angles(heads)
        first, second = heads.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class Neighbours(Block):
    """Rotary positions that turn the pairs (2i, 2i + 1)."""

    def turned(self, heads: Tensor) -> Tensor:
        cos, sin = _angles(heads)
        first, second = heads[..., 0::2], heads[..., 1::2]
        return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)


class Rotary(Decoder):
    """Its blocks alone tell places."""

    def __init__(self) -> None:
        super().__init__()
        del self.wpe

    def embedded(self, ids: Tensor, places: Tensor) -> Tensor:
        return self.wte(ids)


def within(block: type[Block], base: type[Decoder] = Decoder) -> Callable[[], Decoder]:
    """What builds a decoder of these blocks."""
    return type(block.__name__, (base,), {"block": block})


def rotary(block: type[Block]) -> Callable[[], Decoder]:
    """What builds a decoder of these blocks without a table of places."""
    return within(block, Rotary)


def _angles(heads: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of place · 10000^(-2i/d), (T, d / 2) each, in the dtype of heads (B, H, T, d)."""
    T, d = heads.shape[-2:]
    rates = 10000.0 ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
    angles = torch.arange(T)[:, None] * rates
    return angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
