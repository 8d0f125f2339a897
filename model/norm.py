"""Norms over the features of one token. x: (B, T, D) -> (B, T, D)."""

from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class LayerNorm(nn.LayerNorm):
    """Mean 0 and variance 1 over D, then gain and (if ``norm_bias``) shift. Ba et al. 2016."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__(config.d_model, bias=config.norm_bias)


NORMS: dict[str, type[nn.Module]] = {"layernorm": LayerNorm}
