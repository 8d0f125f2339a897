"""Learning rates over the updates of a run: a linear warm-up, then a schedule."""

import math
from collections.abc import Callable


def constant(step: int, steps: int, warmup: int) -> float:
    """1 throughout."""
    return 1.0


def cosine(step: int, steps: int, warmup: int) -> float:
    """From 1 to 0.1 along half a cosine wave that ends with the run. Loshchilov and Hutter 2017."""
    progress = (step - warmup) / max(1, steps - warmup)
    return 0.1 + 0.9 * (1 + math.cos(math.pi * progress)) / 2


def noam(step: int, steps: int, warmup: int) -> float:
    """Falls with the root of the update's number. Vaswani et al. 2017, section 5.3.

    Their rate, D^-½ · min(n^-½, n · warmup^-1.5) at update n = 1, 2, …, is this one where the highest
    rate is (D · warmup)^-½.
    """
    return math.sqrt(warmup / (step + 1))


# Each gives a factor for update ``step`` (the first is 0) of ``steps``, at the end of the warm-up or behind it.
SCHEDULES: dict[str, Callable[[int, int, int], float]] = {
    "constant": constant,
    "cosine": cosine,
    "noam": noam,
}


def learning_rate(step: int, *, lr: float, steps: int, warmup: int, schedule: str) -> float:
    """The rate of update ``step``.

    Warm-up wastes no update: the first is at lr / warmup, and update warmup - 1 is at lr.
    """
    if step < warmup:
        return lr * (step + 1) / warmup
    return lr * SCHEDULES[schedule](step, steps, warmup)
