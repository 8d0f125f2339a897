"""How weights are drawn. Norms start as gain 1 and shift 0 in every scheme."""

import hashlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Generator, nn

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class OutputProjection(nn.Linear):
    """The last linear map of a sub-layer, the one that writes into the residual stream.

    A type of its own, because some schemes draw it smaller; a test by name can silently miss it.
    """


def gpt2(module: nn.Module, config: "ModelConfig", generator: Generator) -> None:
    """N(0, 0.02²), output projections N(0, 0.02² / (2 n_layers)), biases 0. Radford et al. 2019."""
    if isinstance(module, nn.Linear | nn.Embedding):
        scale = 1 / math.sqrt(2 * config.n_layers) if isinstance(module, OutputProjection) else 1.0
        nn.init.normal_(module.weight, std=0.02 * scale, generator=generator)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


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
INITS: dict[str, Init] = {"gpt2": gpt2, "torch": torch_default}


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
