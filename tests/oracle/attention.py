"""Causal attention: loops over batch, heads and places, no masks."""

import math
from typing import Any

import numpy as np

from blockproof.tests.oracle.position import BIASES, rotated
from blockproof.tests.oracle.weights import Array, Weights, linear, part


def attention(x: Array, w: Weights, config: dict[str, Any], places: Weights) -> tuple[Array, Array]:
    """Output (B, T, D) and weights (B, H, T, T): each query looks at the keys up to its own place.

    ``places`` holds the weights of the position; head h reads the keys of group h · G // H.
    """
    B, T, _ = x.shape
    H = config["attention"]["n_heads"]
    G = config["attention"]["n_kv_heads"] or H
    d = x.shape[-1] // H
    q, k, v = projected(x, w, (H * d, G * d, G * d))
    mixed, weights = np.zeros((B, T, H * d)), np.zeros((B, H, T, T))
    for b, h, t in np.ndindex(B, H, T):
        mine, shared = slice(h * d, (h + 1) * d), slice(h * G // H * d, (h * G // H + 1) * d)
        scores = np.array(
            [
                score(q[b, t, mine], k[b, past, shared], (t, past), config["position"])
                + bias(h, t - past, config, places)
                for past in range(t + 1)
            ]
        )
        exponentials = np.exp(scores - scores.max())
        weights[b, h, t, : t + 1] = exponentials / exponentials.sum()
        mixed[b, t, mine] = weights[b, h, t, : t + 1] @ v[b, : t + 1, shared]
    return linear(mixed, part(w, "output.")), weights


def projected(x: Array, w: Weights, sizes: tuple[int, int, int]) -> list[Array]:
    """Queries, keys and values, from one matrix or from one for each head."""
    if "qkv.weight" in w:
        return np.split(linear(x, part(w, "qkv.")), np.cumsum(sizes)[:2], axis=-1)
    roles = []
    for role in ("query", "key", "value"):
        number = len([name for name in w if name.startswith(role) and name.endswith("weight")])
        roles.append(np.concatenate([linear(x, part(w, f"{role}.{i}.")) for i in range(number)], axis=-1))
    return roles


def score(query: Array, key: Array, at: tuple[int, int], position: str) -> float:
    """q·k / sqrt(d), with rotary positions both turned by the places they are at."""
    if position == "rope":
        query, key = rotated(query, at[0]), rotated(key, at[1])
    return float(query @ key / math.sqrt(len(query)))


def bias(head: int, distance: int, config: dict[str, Any], places: Weights) -> float:
    """What the position adds to a score."""
    kind = config["position"]
    return BIASES[kind](head, distance, config["attention"]["n_heads"], places) if kind in BIASES else 0.0
