"""How weights are drawn. Norms start as gain 1 and shift 0, residual gates as 0, in every scheme."""

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor, nn

from blockproof.model.variant import Variant

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class OutputProjection(nn.Linear):
    """The last linear map of a sub-layer, the one that writes into the residual stream.

    A type of its own, because some schemes draw it smaller; a test by name can silently miss it.
    """


class HeadProjection(nn.Linear):
    """Makes queries, keys, values or several of them; ``rows`` says how many features each has, in order.

    A type of its own, because some schemes start them apart.
    """

    def __init__(self, d_model: int, rows: Mapping[str, int], *, bias: bool) -> None:
        super().__init__(d_model, sum(rows.values()), bias=bias)
        self.rows = dict(rows)

    def part(self, role: str) -> Tensor:
        """The rows of the weight that make a role; none if it makes others."""
        parts = dict(zip(self.rows, self.weight.split(list(self.rows.values())), strict=True))
        return parts.get(role, self.weight[:0])


def gpt2(module: nn.Module, config: "ModelConfig", generator: Generator) -> None:
    """N(0, 0.02²), output projections N(0, 0.02² / (2 n_layers)), biases 0. Radford et al. 2019."""
    if isinstance(module, nn.Linear | nn.Embedding):
        scale = 1 / math.sqrt(2 * config.n_layers) if isinstance(module, OutputProjection) else 1.0
        nn.init.normal_(module.weight, std=0.02 * scale, generator=generator)
    _zero_bias(module)


def xavier(module: nn.Module, config: "ModelConfig", generator: Generator) -> None:
    """N(0, 2 / (rows + columns)) for each matrix, biases 0. Glorot and Bengio 2010.

    Queries, keys and values count as a matrix each, though one projection may make them all.
    """
    if isinstance(module, HeadProjection):
        for role in module.rows:
            with torch.no_grad():
                nn.init.xavier_normal_(module.part(role), generator=generator)
    elif isinstance(module, nn.Linear | nn.Embedding):
        nn.init.xavier_normal_(module.weight, generator=generator)
    _zero_bias(module)


def xiong(module: nn.Module, config: "ModelConfig", generator: Generator) -> None:
    """Xavier's, but queries and keys 0: attention starts uniform. Xiong et al. 2020, section 3.2."""
    xavier(module, config, generator)
    if isinstance(module, HeadProjection):
        with torch.no_grad():
            for role in ("query", "key"):
                module.part(role).zero_()


def torch_default(module: nn.Module, config: "ModelConfig", generator: Generator) -> None:
    """What ``nn.Linear`` does by itself: weight and bias uniform in ±1 / sqrt(fan_in).

    Embeddings are drawn with the same bound, as the head that a tied one also is: ``nn.Embedding``'s
    own N(0, 1) would start a tied model far above ln V.
    """
    if isinstance(module, nn.Linear | nn.Embedding):
        bound = 1 / math.sqrt(module.weight.shape[1])
        nn.init.uniform_(module.weight, -bound, bound, generator=generator)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.uniform_(module.bias, -bound, bound, generator=generator)


Init = Callable[[nn.Module, "ModelConfig", Generator], None]
INITS: dict[str, Init] = {"gpt2": gpt2, "xavier": xavier, "xiong": xiong, "torch": torch_default}


def draw_seed() -> int:
    """A seed from torch's global state, to be taken before any part is built, since building draws too."""
    return int(torch.randint(2**62, (), device="cpu"))


def initialise(model: nn.Module, config: "ModelConfig", seed: int) -> None:
    """Draw every module from a stream of its own, seeded by ``seed`` and its name.

    Two variants with the same seed thus share the weights of every part that they have in common,
    whatever else is added or removed. On the meta device nothing is drawn.
    """
    for name, module in model.named_modules():
        if not any(parameter.is_meta for parameter in module.parameters(recurse=False)):
            digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
            INITS[config.init](module, config, Generator().manual_seed(int.from_bytes(digest[:7])))
    for module in model.modules():
        if isinstance(module, Variant):
            module.after_init()


def _zero_bias(module: nn.Module) -> None:
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
