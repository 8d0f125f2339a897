"""Differences between variants that share their seeds, with their uncertainty."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

MIN_SEEDS = 5  # fewer pairs give no verdict
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean and its confidence interval over n seeds; infinite for n = 1."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def excludes_zero(self) -> bool:
        """Whether the sign of the mean is beyond doubt, from enough seeds."""
        return self.n >= MIN_SEEDS and (self.low > 0 or self.high < 0)


def t_interval(values: Sequence[float]) -> Interval:
    """Student's t interval of the mean at ``LEVEL``; what is resampled is the seed.

    Raises:
        ValueError: for no value, or one that is not finite.
    """
    n = len(values)
    if n == 0 or not all(math.isfinite(value) for value in values):
        raise ValueError(f"an interval needs finite values, got {list(values)}")
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * spread / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def paired_interval(one: Sequence[float], other: Sequence[float]) -> Interval:
    """The interval of ``one - other``, where values at the same index share their seed."""
    return t_interval([a - b for a, b in zip(one, other, strict=True)])
