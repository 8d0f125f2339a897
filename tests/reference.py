"""The transformer again, in NumPy and float64: loops over batch, heads and places, no masks.

It shares nothing with ``model/`` but the names of the parameters.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import nn

Array = NDArray[np.float64]
Weights = dict[str, Array]


def weights_of(model: nn.Module, path: str = "") -> Weights:
    """The parameters below a path, named from there on."""
    found = dict(model.named_parameters())
    return {
        name.removeprefix(path): parameter.detach().double().numpy()
        for name, parameter in found.items()
        if name.startswith(path)
    }


def part(weights: Weights, path: str) -> Weights:
    """The weights below a path, named from there on."""
    return {name[len(path) :]: value for name, value in weights.items() if name.startswith(path)}


def linear(x: Array, w: Weights) -> Array:
    """Multiply by Wᵀ and add b, where there is a b."""
    return x @ w["weight"].T + w.get("bias", 0.0)


def layer_norm(x: Array, w: Weights) -> Array:
    """(x - mean) / sqrt(variance + 1e-5) over the features of each token, times gain, plus shift."""
    out = np.empty_like(x)
    for place in np.ndindex(x.shape[:-1]):
        token = x[place]
        variance = ((token - token.mean()) ** 2).mean()
        out[place] = (token - token.mean()) / math.sqrt(variance + 1e-5) * w["weight"] + w.get("bias", 0.0)
    return out


def attention(x: Array, w: Weights, n_heads: int) -> tuple[Array, Array]:
    """Output (B, T, D) and weights (B, H, T, T): each query looks at the keys up to its own place."""
    B, T, D = x.shape
    d = D // n_heads
    q, k, v = np.split(linear(x, part(w, "qkv.")), 3, axis=-1)
    mixed, weights = np.zeros_like(x), np.zeros((B, n_heads, T, T))
    for b, h, t in np.ndindex(B, n_heads, T):
        head = slice(h * d, (h + 1) * d)
        scores = np.array([q[b, t, head] @ k[b, past, head] / math.sqrt(d) for past in range(t + 1)])
        exponentials = np.exp(scores - scores.max())
        weights[b, h, t, : t + 1] = exponentials / exponentials.sum()
        mixed[b, t, head] = weights[b, h, t, : t + 1] @ v[b, : t + 1, head]
    return linear(mixed, part(w, "output.")), weights


def feedforward(x: Array, w: Weights) -> Array:
    """Down(GELU(up(x))), with the exact GELU: x times the normal distribution function of x."""
    hidden = linear(x, part(w, "up."))
    phi = np.vectorize(lambda value: (1 + math.erf(value / math.sqrt(2))) / 2)
    return linear(hidden * phi(hidden), part(w, "down."))


def sublayer(
    x: Array, w: Weights, f: Callable[[Array, Weights], Array], placement: str, residual: str
) -> Array:
    """A sub-layer with its norm and its residual."""
    norm, inner = part(w, "norm."), part(w, "sublayer.")
    carried = x if residual == "add" else np.zeros_like(x)
    if placement == "pre":
        return carried + f(layer_norm(x, norm), inner)
    return layer_norm(carried + f(x, inner), norm)


def transformer(ids: NDArray[np.int64], w: Weights, n_heads: int, placement: str, residual: str) -> Array:
    """Logits (B, T, V), from ids (B, T)."""

    def mix(y: Array, v: Weights) -> Array:
        return attention(y, v, n_heads)[0]

    x = w["token.weight"][ids]
    if "position.table.weight" in w:
        x = x + w["position.table.weight"][: ids.shape[1]]
    for i in range(len({name.split(".")[1] for name in w if name.startswith("blocks.")})):
        block = part(w, f"blocks.{i}.")
        x = sublayer(x, part(block, "attention."), mix, placement, residual)
        x = sublayer(x, part(block, "feedforward."), feedforward, placement, residual)
    return layer_norm(x, part(w, "norm.")) @ w.get("head.weight", w["token.weight"]).T
