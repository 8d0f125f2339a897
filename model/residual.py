"""How a sub-layer f joins the stream: what is carried past it, and where its norm stands.

Both kinds map (B, T, D) to (B, T, D). A residual joins the stream x and the branch f(x); a placement
wraps a sub-layer with its norm and its residual.
"""

from typing import TYPE_CHECKING

from torch import Tensor, nn

from blockproof.model.norm import NORMS

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class AddResidual(nn.Module):
    """x + f(x). He et al. 2016."""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return x + branch


class NoResidual(nn.Module):
    """f(x) alone: nothing is carried past the sub-layer."""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return branch


RESIDUALS: dict[str, type[nn.Module]] = {"add": AddResidual, "none": NoResidual}


class Placement(nn.Module):
    """A sub-layer with its norm and its residual; subclasses say in which order."""

    def __init__(self, config: "ModelConfig", sublayer: nn.Module) -> None:
        super().__init__()
        self.norm = NORMS[config.norm](config)
        self.sublayer = sublayer
        self.residual = RESIDUALS[config.residual]()


class PreNorm(Placement):
    """x + f(norm(x)): the stream itself is never normed. Radford et al. 2019; Xiong et al. 2020."""

    def forward(self, x: Tensor) -> Tensor:
        return self.residual(x, self.sublayer(self.norm(x)))


class PostNorm(Placement):
    """norm(x + f(x)). Vaswani et al. 2017."""

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.residual(x, self.sublayer(x)))


PLACEMENTS: dict[str, type[Placement]] = {"pre": PreNorm, "post": PostNorm}
