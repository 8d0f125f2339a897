"""What the measurements of several claims share."""

from collections.abc import Callable
from functools import wraps
from statistics import median
from time import perf_counter
from typing import TypeVar

import torch
from torch import Tensor

from blockproof.tests.claims.claim import FAILS, HOLDS

R = TypeVar("R")

EXACT = 1e-12  # what float64 may round, of numbers near 1; the smallest bug is far above it


def verdict(always: bool, when: str = "", partly: bool = False) -> str:
    """``holds``; else ``holds when …`` where ``partly`` says that this much is true; else ``does not hold``."""
    if always:
        return HOLDS
    return f"holds when {when}" if partly else FAILS


def apart(a: Tensor, b: Tensor) -> float:
    """The largest difference, element by element; NaN counts as infinitely far."""
    return (a - b).detach().abs().nan_to_num(torch.inf).max().item()


def rms(x: Tensor) -> float:
    """The root of the mean square."""
    return x.detach().square().mean().sqrt().item()


def reproducible(measure: Callable[[], R]) -> Callable[[], R]:
    """The same on one thread and from one seed, whatever ran before; torch's state is put back."""

    @wraps(measure)
    def seeded() -> R:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                return measure()
        finally:
            torch.set_num_threads(threads)

    return seeded


def times_as_long(slow: Callable[[], object], fast: Callable[[], object], repeats: int = 15) -> float:
    """Median time of one over that of the other, measured by turns so that a busy machine slows both."""
    seconds: dict[Callable[[], object], list[float]] = {slow: [], fast: []}
    for repeat in range(repeats + 2):
        for each, kept in seconds.items():
            start = perf_counter()
            each()
            if repeat >= 2:  # the first calls set up buffers
                kept.append(perf_counter() - start)
    return median(seconds[slow]) / median(seconds[fast])
