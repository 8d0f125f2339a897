"""Feed-forward sub-layers: the same map at every position. x: (B, T, D) -> (B, T, D)."""

from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model.init import OutputProjection

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class GELUFeedForward(nn.Module):
    """D to 4D, exact GELU, back to D, dropout. Hendrycks and Gimpel 2016; Radford et al. 2019."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__()
        self.up = nn.Linear(config.d_model, config.d_ff, bias=config.bias)
        self.down = OutputProjection(config.d_ff, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.down(F.gelu(self.up(x))))


FEEDFORWARDS: dict[str, type[nn.Module]] = {"gelu": GELUFeedForward}
