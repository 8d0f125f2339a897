"""How places in the sequence are told: to the embedding, to queries and keys, or to their scores.

H heads of width d. ``places`` holds the place of each token, counted from 0: (T,), int64. Tables that
are not trained are worked out in float64 where they are used, so that no dtype spoils them.
"""

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from blockproof.model.schema import ConfigError
from blockproof.model.variant import Variant

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class Position(Variant, nn.Module):
    """Tells nothing; a variant overrides one of the three ways. Order then shows by the mask alone."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__()

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        """Token embeddings (B, T, D), told their places."""
        return x

    def rotate(self, heads: Tensor, places: Tensor) -> Tensor:
        """Queries or keys (B, H, T, d), told their places."""
        return heads

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        """What is added to the scores of each head, (H, T, S), by the places of queries (T,) and keys (S,)."""
        return None


class LearnedPosition(Position):
    """Adds one trained vector for each place; the context is a hard maximum. Radford et al. 2019."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__(config)
        self.table = nn.Embedding(config.context, config.d_model)

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        return x + self.table(places)  # (B, T, D) + (T, D)


class SinusoidalPosition(Position):
    """√D times the embedding, plus sin and cos by turns, of wavelengths 2π to 10000 · 2π.

    Vaswani et al. 2017, sections 3.4 and 3.5.
    """

    @classmethod
    def check(cls, config: "ModelConfig") -> None:
        """Features come in pairs."""
        if config.d_model % 2:
            raise ConfigError(f"sinusoidal positions need an even d_model, got {config.d_model}")

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        angles = _angles(places, x.shape[-1])  # (T, D / 2)
        waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(start_dim=1)  # (T, D)
        return math.sqrt(x.shape[-1]) * x + waves.to(x.dtype)


class RelativePosition(Position):
    """Base of the ways that act inside of attention."""

    @classmethod
    def check(cls, config: "ModelConfig") -> None:
        """There must be attention to act in."""
        if config.attention.kind == "none":
            raise ConfigError(
                f"position {config.position!r} acts inside of attention, and attention.kind is 'none': "
                f"choose another position"
            )


class RotaryPosition(RelativePosition):
    """RoPE: turns feature pairs (i, i + d/2) by place · 10000^(-2i/d). Su et al. 2021.

    A score then depends on the distance of query and key alone. The pairs are those of the LLaMA
    weights as commonly exchanged, not neighbours as in the paper: the features stand in another order.
    """

    @classmethod
    def check(cls, config: "ModelConfig") -> None:
        """Features of a head come in pairs."""
        super().check(config)
        if config.d_head % 2:
            raise ConfigError(f"rotary positions need heads of even width, got d_head {config.d_head}")

    def rotate(self, heads: Tensor, places: Tensor) -> Tensor:
        angles = _angles(places, heads.shape[-1])  # (T, d / 2)
        cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
        first, second = heads.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class ALiBiPosition(RelativePosition):
    """Subtracts slope · distance from each score, one slope a head. Press et al. 2022."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__(config)
        self.slopes = alibi_slopes(config.attention.n_heads)

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor:
        slopes = torch.tensor(self.slopes, dtype=torch.float64, device=queries.device)
        return -slopes[:, None, None] * (queries[:, None] - keys)


class BucketedPosition(RelativePosition):
    """Adds a trained number by head and distance, the same in all layers. Raffel et al. 2020 (T5).

    Distances below 16 have a bucket each; 16 more widen in logarithmic steps up to a distance of 128.
    """

    BUCKETS, LONGEST = 32, 128

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__(config)
        self.table = nn.Embedding(self.BUCKETS, config.attention.n_heads)

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor:
        return self.table(self.bucket(queries[:, None] - keys)).permute(2, 0, 1)

    @classmethod
    def bucket(cls, distance: Tensor) -> Tensor:
        """The bucket of each distance from query back to key; the future, which is masked, is in bucket 0."""
        exact = cls.BUCKETS // 2
        steps = (distance.clamp(min=exact) / exact).double().log() / math.log(cls.LONGEST / exact)
        far = (exact + (steps * (cls.BUCKETS - exact)).long()).clamp(max=cls.BUCKETS - 1)
        return torch.where(distance < exact, distance.clamp(min=0), far)


POSITIONS: dict[str, type[Position]] = {
    "learned": LearnedPosition,
    "sinusoidal": SinusoidalPosition,
    "rope": RotaryPosition,
    "alibi": ALiBiPosition,
    "t5": BucketedPosition,
    "none": Position,
}


def alibi_slopes(n_heads: int) -> list[float]:
    """2^(-8k/n) for head k = 1 … n; if n is no power of 2, those of the power below, then every second one
    of the power above.
    """
    power = 2 ** (n_heads.bit_length() - 1)
    slopes = [2 ** (-8 * k / power) for k in range(1, power + 1)]
    return slopes + [2 ** (-4 * k / power) for k in range(1, 2 * (n_heads - power), 2)]


def _angles(places: Tensor, width: int) -> Tensor:
    """Place · 10000^(-2i/width) for i = 0 … width/2 - 1: (T, width / 2), in float64."""
    i = torch.arange(width // 2, dtype=torch.float64, device=places.device)
    return places[:, None] * 10000.0 ** (-2 * i / width)
