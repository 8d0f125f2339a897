"""Norms over the features of one token. x: (B, T, D) -> (B, T, D)."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from blockproof.model.schema import ConfigError
from blockproof.model.variant import Variant

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class LayerNorm(Variant, nn.LayerNorm):
    """(x - mean) / sqrt(variance + eps) over D, times gain, plus shift unless left out. Ba et al. 2016."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__(config.d_model, eps=config.norm.eps, bias=config.norm.bias is not False)


class RMSNorm(Variant, nn.Module):
    """x / sqrt(mean(x²) + eps) over D, times gain: no mean is taken, no shift. Zhang and Sennrich 2019."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__()
        self.eps = config.norm.eps
        self.weight = nn.Parameter(torch.ones(config.d_model))

    @classmethod
    def check(cls, config: "ModelConfig") -> None:
        """There is no shift to be had."""
        if config.norm.bias:
            raise ConfigError("RMSNorm has no shift: leave norm.bias out, or choose norm.kind layernorm")

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # float16 does not hold the square of 300
        mean_square = wide.square().mean(dim=-1, keepdim=True)  # (B, T, 1)
        return x * torch.rsqrt(mean_square + self.eps).to(x.dtype) * self.weight


NORMS: dict[str, type[LayerNorm] | type[RMSNorm]] = {"layernorm": LayerNorm, "rmsnorm": RMSNorm}
