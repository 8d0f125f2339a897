"""Positions, number by number: what is added to an embedding, how a head's vector turns, a score's bias."""

import math
from collections.abc import Callable

import numpy as np

from blockproof.tests.oracle.weights import Array, Weights


def learned(token: Array, place: int, w: Weights) -> Array:
    """The embedding plus the trained vector of its place."""
    return token + w["table.weight"][place]


def sinusoidal(token: Array, place: int, w: Weights) -> Array:
    """√D times the embedding; plus the sine at even features, the cosine at odd ones."""
    D = len(token)
    out = math.sqrt(D) * token
    for i in range(D):
        angle = place / 10000 ** ((i - i % 2) / D)
        out[i] += math.cos(angle) if i % 2 else math.sin(angle)
    return out


EMBEDDED: dict[str, Callable[[Array, int, Weights], Array]] = {
    "learned": learned,
    "sinusoidal": sinusoidal,
}


def rotated(vector: Array, place: int) -> Array:
    """Features i and i + d/2 as a complex number, multiplied by e^(i · place · 10000^(-2i/d))."""
    half = len(vector) // 2
    out = np.empty_like(vector)
    for i in range(half):
        turned = complex(vector[i], vector[i + half]) * np.exp(1j * place * 10000 ** (-2 * i / (2 * half)))
        out[i], out[i + half] = turned.real, turned.imag
    return out


def alibi(head: int, distance: int, n_heads: int, w: Weights) -> float:
    """Minus slope times distance; slopes 2^(-8/n), 2^(-16/n) … for a power of two."""
    known = {
        1: (1 / 256,),
        2: (1 / 16, 1 / 256),
        3: (1 / 16, 1 / 256, 1 / 4),  # those of two heads, then the first of four
        4: (1 / 4, 1 / 16, 1 / 64, 1 / 256),
        6: (1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8),
        8: tuple(2.0**-k for k in range(1, 9)),
    }
    return -known[n_heads][head] * distance


def t5(head: int, distance: int, n_heads: int, w: Weights) -> float:
    """The trained number of head and bucket: 0 … 15 each, then 16 buckets in log steps up to 128."""
    bucket = distance
    if distance >= 16:
        bucket = min(31, 16 + math.floor(16 * math.log2(distance / 16) / 3))
    return float(w["table.weight"][bucket, head])


BIASES: dict[str, Callable[[int, int, int, Weights], float]] = {"alibi": alibi, "t5": t5}
