"""Norms, token by token."""

import math
from collections.abc import Callable

import numpy as np

from blockproof.tests.oracle.weights import Array, Weights


def layer_norm(token: Array, eps: float) -> Array:
    """(x - mean) / sqrt(variance + eps), the variance divided by D."""
    centred = token - sum(token) / len(token)
    return centred / math.sqrt(sum(centred**2) / len(token) + eps)


def rms_norm(token: Array, eps: float) -> Array:
    """X / sqrt(mean of squares + eps)."""
    return token / math.sqrt(sum(token**2) / len(token) + eps)


NORMS: dict[str, Callable[[Array, float], Array]] = {"layernorm": layer_norm, "rmsnorm": rms_norm}


def norm(x: Array, w: Weights, kind: str, eps: float) -> Array:
    """Every token of x (…, D) by itself, times gain, plus shift where there is one."""
    out = np.empty_like(x)
    for place in np.ndindex(x.shape[:-1]):
        out[place] = NORMS[kind](x[place], eps) * w["weight"] + w.get("bias", 0.0)
    return out
