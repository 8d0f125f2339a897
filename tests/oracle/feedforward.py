"""Feed-forwards, from their formulas."""

import math
from collections.abc import Callable

import numpy as np

from blockproof.tests.oracle.weights import Array, Weights, linear, part


def gelu(x: float) -> float:
    """X times the normal distribution function of x."""
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def gelu_tanh(x: float) -> float:
    """The same with a tanh in place of the distribution function."""
    return x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def relu(x: float) -> float:
    """X where it is positive, else 0."""
    return x if x > 0 else 0.0


def silu(x: float) -> float:
    """X times the logistic function of x."""
    return x / (1 + math.exp(-x))


def plain(activation: Callable[[float], float]) -> Callable[[Array, Weights], Array]:
    """Down(activation(up(x)))."""

    def feedforward(x: Array, w: Weights) -> Array:
        hidden = np.vectorize(activation)(linear(x, part(w, "up.")))
        return linear(hidden, part(w, "down."))

    return feedforward


def swiglu(x: Array, w: Weights) -> Array:
    """Down(silu(gate(x)) · up(x))."""
    hidden = np.vectorize(silu)(linear(x, part(w, "gate."))) * linear(x, part(w, "up."))
    return linear(hidden, part(w, "down."))


FEEDFORWARDS: dict[str, Callable[[Array, Weights], Array]] = {
    "gelu": plain(gelu),
    "gelu_tanh": plain(gelu_tanh),
    "relu": plain(relu),
    "silu": plain(silu),
    "swiglu": swiglu,
}
