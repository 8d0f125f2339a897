"""Keys and values of the tokens so far: what the next tokens look back at, without working it out again.

G heads of keys and values, of width d; S tokens so far. A cache belongs to whoever decodes, never to the
model, so that nothing is left over from one text to the next.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class Past:
    """Of one layer: keys, already told their places, and values, (B, G, S, d) each; None before the first."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    @property
    def length(self) -> int:
        """S, tokens so far."""
        return 0 if self.keys is None else self.keys.shape[2]

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Take in those of T new tokens, (B, G, T, d) each; gives all there are then, (B, G, S, d) each."""
        if self.keys is not None and self.values is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values


class Cache:
    """Of a model: empty at first, then filled by every forward that it is given to.

    Attributes:
        length: tokens consumed; the next one stands at this place.
        layers: what each layer keeps; it stays empty where there is no attention.
    """

    def __init__(self, config: "ModelConfig") -> None:
        self.length = 0
        self.layers = [Past() for _ in range(config.n_layers)]
