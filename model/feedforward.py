"""Feed-forward sub-layers: the same map at every position. x: (B, T, D) -> (B, T, D). F is ``d_ff``."""

from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model.init import OutputProjection
from blockproof.model.schema import ConfigError
from blockproof.model.variant import Variant

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class FeedForward(Variant, nn.Module):
    """D to F, an activation, back to D, dropout. Vaswani et al. 2017, section 3.3; F is 4D by default."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__()
        self.up = nn.Linear(config.d_model, config.d_ff, bias=config.feedforward.bias)
        self.down = OutputProjection(config.d_ff, config.d_model, bias=config.feedforward.bias)
        self.dropout = nn.Dropout(config.feedforward.dropout)

    @classmethod
    def default_width(cls, d_model: int, bias: bool) -> int:
        """F where the config does not say."""
        return 4 * d_model

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.down(self.activation(self.up(x))))

    def activation(self, hidden: Tensor) -> Tensor:
        """Element by element, (B, T, F) -> (B, T, F)."""
        raise NotImplementedError


class GELUFeedForward(FeedForward):
    """x Φ(x), exact: Φ is the normal distribution function. Hendrycks and Gimpel 2016."""

    def activation(self, hidden: Tensor) -> Tensor:
        return F.gelu(hidden)


class TanhGELUFeedForward(FeedForward):
    """x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, near the exact one. Radford et al. 2019, in their code."""

    def activation(self, hidden: Tensor) -> Tensor:
        return F.gelu(hidden, approximate="tanh")


class ReLUFeedForward(FeedForward):
    """max(0, x). Vaswani et al. 2017."""

    def activation(self, hidden: Tensor) -> Tensor:
        return F.relu(hidden)


class SiLUFeedForward(FeedForward):
    """x σ(x). Ramachandran et al. 2017, where it is called Swish."""

    def activation(self, hidden: Tensor) -> Tensor:
        return F.silu(hidden)


class SwiGLUFeedForward(FeedForward):
    """silu(gate(x)) · up(x), then down: three matrices. Shazeer 2020; Touvron et al. 2023.

    By default F is the width, about 8D/3, at which there are as many parameters as in two matrices of
    width 4D. Rounding it leaves a difference below 0.6 % from D = 32 on; smaller models must say F.
    """

    MATCHED_FROM = 32

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__(config)
        self.gate = nn.Linear(config.d_model, config.d_ff, bias=config.feedforward.bias)

    @classmethod
    def default_width(cls, d_model: int, bias: bool) -> int:
        """Solves 3DF + b(2F + D) = 8D² + 5bD for F, where b is 1 with biases and 0 without."""
        return round((8 * d_model**2 + 4 * bias * d_model) / (3 * d_model + 2 * bias))

    @classmethod
    def check(cls, config: "ModelConfig") -> None:
        """A narrow model cannot be matched."""
        if config.feedforward.width is None and config.d_model < cls.MATCHED_FROM:
            raise ConfigError(
                f"at d_model {config.d_model} no whole width gives SwiGLU the parameters of two matrices of 4D: "
                f"set feedforward.width, or d_model to {cls.MATCHED_FROM} or more"
            )

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.down(F.silu(self.gate(x)) * self.up(x)))


FEEDFORWARDS: dict[str, type[FeedForward] | None] = {
    "gelu": GELUFeedForward,
    "gelu_tanh": TanhGELUFeedForward,
    "relu": ReLUFeedForward,
    "silu": SiLUFeedForward,
    "swiglu": SwiGLUFeedForward,
    "none": None,
}
