"""Parameters by part, counted on the meta device, beside the formula for the blocks."""

from dataclasses import dataclass

import torch

from blockproof.model.config import ModelConfig
from blockproof.model.transformer import Transformer

PARTS = ("token embedding", "position", "attention", "feed-forward", "norms", "head")


@dataclass(frozen=True)
class Count:
    """How many parameters each part has; ``parts`` follows the order of ``PARTS``.

    A tied head adds none: its matrix is the token embedding.
    """

    config: ModelConfig
    parts: dict[str, int]

    @property
    def total(self) -> int:
        """All parameters, each shared one counted once."""
        return sum(self.parts.values())

    @property
    def blocks(self) -> int:
        """The weights, biases, gains and shifts of all blocks."""
        outside = self.parts["token embedding"] + self.parts["position"] + self.parts["head"]
        return self.total - outside - self._final_norm

    @property
    def formula(self) -> int:
        """12 N D², the usual estimate of ``blocks``: 4 D² for attention, 8 D² for the feed-forward."""
        return 12 * self.config.n_layers * self.config.d_model**2

    @property
    def formula_error(self) -> float:
        """(formula - blocks) / formula; with all biases and shifts exactly -13 / (12 D)."""
        return (self.formula - self.blocks) / self.formula

    @property
    def _final_norm(self) -> int:
        return self.parts["norms"] // (2 * self.config.n_layers + 1)


def count(config: ModelConfig) -> Count:
    """Build the model without memory and count it; any size takes well under a second."""
    with torch.device("meta"):
        model = Transformer(config)
    parts = dict.fromkeys(PARTS, 0)
    for name, parameter in model.named_parameters():
        parts[_part(name)] += parameter.numel()
    return Count(config, parts)


def _part(name: str) -> str:
    """The part that a parameter belongs to, by the path of its module."""
    path = name.split(".")
    if "norm" in path:
        return "norms"
    owner = path[0] if path[0] != "blocks" else path[2]
    return {
        "token": "token embedding",
        "position": "position",
        "attention": "attention",
        "feedforward": "feed-forward",
        "head": "head",
    }[owner]
