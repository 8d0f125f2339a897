"""Learning rates over the steps of a run. Every schedule maps a fraction of it to a factor."""

import math
from collections.abc import Callable


def constant(progress: float) -> float:
    """1 throughout."""
    return 1.0


def cosine(progress: float) -> float:
    """From 1 to 0.1 along half a cosine wave. Loshchilov and Hutter 2017."""
    return 0.1 + 0.9 * (1 + math.cos(math.pi * progress)) / 2


SCHEDULES: dict[str, Callable[[float], float]] = {"constant": constant, "cosine": cosine}


def learning_rate(step: int, *, lr: float, steps: int, warmup: int, schedule: str) -> float:
    """The rate of update ``step`` (the first is 0): a linear warm-up, then the schedule.

    Warm-up wastes no update: the first is at lr / warmup, and update warmup - 1 is at lr.
    """
    if step < warmup:
        return lr * (step + 1) / warmup
    return lr * SCHEDULES[schedule]((step - warmup) / max(1, steps - warmup))
