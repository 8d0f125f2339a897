"""How a sub-layer f joins the stream: what is carried past it, and where its norm stands.

Both kinds map (B, T, D) to (B, T, D). A residual joins the stream x and the branch f(x); a placement
wraps a sub-layer with its norm and its residual. ``beside`` is what the sub-layer takes besides x.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from blockproof.model.init import HeadProjection
from blockproof.model.norm import NORMS
from blockproof.model.schema import ConfigError
from blockproof.model.variant import Variant

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class Residual(Variant, nn.Module):
    """Joins the stream and the branch; what the stream carries may be thinned by dropout."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.residual.dropout)


class AddResidual(Residual):
    """x + f(x). He et al. 2016."""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return self.dropout(x) + branch


class NoResidual(Residual):
    """f(x) alone: nothing is carried past the sub-layer."""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return branch


class GatedResidual(Residual):
    """x + gate · f(x) with a trained gate that starts at 0: first the identity. Bachlechner et al. 2020."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__(config)
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return self.dropout(x) + self.gate * branch


RESIDUALS: dict[str, type[Residual]] = {"add": AddResidual, "none": NoResidual, "gated": GatedResidual}


class Placement(Variant, nn.Module):
    """A sub-layer with its norm and its residual; subclasses say in which order."""

    def __init__(self, config: "ModelConfig", sublayer: nn.Module) -> None:
        super().__init__()
        self.norm: nn.Module = NORMS[config.norm.kind](config)
        self.sublayer = sublayer
        self.residual = RESIDUALS[config.residual.kind](config)


class PreNorm(Placement):
    """x + f(norm(x)): the stream itself is never normed. Radford et al. 2019; Xiong et al. 2020."""

    def forward(self, x: Tensor, *beside: Any) -> Tensor:
        return self.residual(x, self.sublayer(self.norm(x), *beside))


class PostNorm(Placement):
    """norm(x + f(x)). Vaswani et al. 2017."""

    def forward(self, x: Tensor, *beside: Any) -> Tensor:
        return self.norm(self.residual(x, self.sublayer(x, *beside)))


class SandwichNorm(Placement):
    """x + norm(f(norm(x))): the branch is normed on both its sides. Ding et al. 2021; Kim et al. 2025."""

    def __init__(self, config: "ModelConfig", sublayer: nn.Module) -> None:
        super().__init__(config, sublayer)
        self.branch_norm = NORMS[config.norm.kind](config)

    def forward(self, x: Tensor, *beside: Any) -> Tensor:
        return self.residual(x, self.branch_norm(self.sublayer(self.norm(x), *beside)))


class DeepNorm(Placement):
    """norm(αx + f(x)), α = (2N)^¼, in a stack of N layers. Wang et al. 2022, decoder-only.

    The weights of f start β = (8N)^-¼ times as large as the init drew them, queries and keys excepted.
    """

    @classmethod
    def check(cls, config: "ModelConfig") -> None:
        """Something must be carried for α to scale."""
        if config.residual.kind == "none":
            raise ConfigError(
                "deepnorm scales what a residual carries, and residual.kind is 'none': choose post"
            )

    def __init__(self, config: "ModelConfig", sublayer: nn.Module) -> None:
        super().__init__(config, sublayer)
        self.alpha = (2 * config.n_layers) ** 0.25
        self.beta = (8 * config.n_layers) ** -0.25

    def forward(self, x: Tensor, *beside: Any) -> Tensor:
        return self.norm(self.residual(self.alpha * x, self.sublayer(x, *beside)))

    @torch.no_grad()
    def after_init(self) -> None:
        """Scale the branch by β."""
        for module in self.sublayer.modules():
            if isinstance(module, HeadProjection):
                module.part("value").mul_(self.beta)
            elif isinstance(module, nn.Linear):
                module.weight.mul_(self.beta)


class NoNorm(Placement):
    """x + f(x), without a norm."""

    def __init__(self, config: "ModelConfig", sublayer: nn.Module) -> None:
        super().__init__(config, sublayer)
        self.norm = nn.Identity()

    def forward(self, x: Tensor, *beside: Any) -> Tensor:
        return self.residual(x, self.sublayer(x, *beside))


PLACEMENTS: dict[str, type[Placement]] = {
    "pre": PreNorm,
    "post": PostNorm,
    "sandwich": SandwichNorm,
    "deepnorm": DeepNorm,
    "none": NoNorm,
}
