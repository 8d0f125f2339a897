"""How a token's place in the sequence is told. x: (B, T, D) -> (B, T, D)."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class LearnedPosition(nn.Module):
    """Adds one trained vector for each place; the context is a hard maximum."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__()
        self.table = nn.Embedding(config.context, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        place = torch.arange(x.shape[1], device=x.device)  # (T,)
        return x + self.table(place)  # (B, T, D) + (T, D)


class NoPosition(nn.Module):
    """Adds nothing: order is told, if at all, by the causal mask alone."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x


POSITIONS: dict[str, type[nn.Module]] = {"learned": LearnedPosition, "none": NoPosition}
