"""A model's parameters as NumPy arrays, by name, and a linear map with them.

The names are all that the oracle shares with ``model/``.
"""

import numpy as np
from numpy.typing import NDArray
from torch import nn

Array = NDArray[np.float64]
Weights = dict[str, Array]


def weights_of(model: nn.Module) -> Weights:
    """All parameters."""
    return {name: parameter.detach().double().numpy() for name, parameter in model.named_parameters()}


def part(weights: Weights, path: str) -> Weights:
    """The weights below a path, named from there on."""
    return {name[len(path) :]: value for name, value in weights.items() if name.startswith(path)}


def linear(x: Array, w: Weights) -> Array:
    """Multiply by Wᵀ and add b, where there is a b."""
    return x @ w["weight"].T + w.get("bias", 0.0)
