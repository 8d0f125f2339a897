"""Intervals hold what they promise, and refuse what they cannot promise."""

import math

import numpy as np
import pytest
from scipy import stats

from blockproof.ablations.statistics import LEVEL, MIN_SEEDS, Interval, paired_interval, t_interval

VALUES = [1.2, 0.7, 2.9, 1.1, 1.6]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_is_the_t_interval_of_the_mean(n: int) -> None:
    low, high = stats.ttest_1samp(VALUES[:n], 0).confidence_interval(LEVEL)
    ours = t_interval(VALUES[:n])
    assert (ours.mean, ours.low, ours.high) == pytest.approx((np.mean(VALUES[:n]), low, high), rel=1e-12)
    assert ours.n == n


def test_one_value_tells_nothing() -> None:
    assert t_interval([3.0]) == Interval(3.0, -math.inf, math.inf, 1)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.nan], [1.0, math.inf, 2.0]])
def test_refuses_what_is_not_finite(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite values"):
        t_interval(values)


def test_covers_the_truth_as_often_as_it_says() -> None:
    """4000 experiments of five seeds: the share lies within four standard errors of 95 %."""
    draws = np.random.default_rng(0).normal(1.0, 2.0, size=(4000, 5))
    covered = np.mean([(i := t_interval(row)).low <= 1.0 <= i.high for row in draws.tolist()])
    assert abs(covered - LEVEL) < 4 * math.sqrt(LEVEL * (1 - LEVEL) / len(draws))


def test_pairing_takes_out_what_variants_share() -> None:
    rng = np.random.default_rng(0)
    shared, own = rng.normal(0, 1, 5), rng.normal(0, 0.01, (2, 5))
    one, other = (shared + 0.1 + own[0]).tolist(), (shared + own[1]).tolist()
    paired = paired_interval(one, other)
    assert paired.excludes_zero
    assert paired.mean == pytest.approx(np.mean(one) - np.mean(other))
    assert paired.high - paired.low < (t_interval(one).high - t_interval(one).low) / 10


def test_pairs_need_a_partner() -> None:
    with pytest.raises(ValueError, match="shorter"):
        paired_interval([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("low", "high", "n", "sure"),
    [
        (0.1, 0.2, MIN_SEEDS, True),
        (-0.2, -0.1, MIN_SEEDS, True),
        (-0.1, 0.1, MIN_SEEDS, False),
        (0.0, 0.2, MIN_SEEDS, False),
        (0.1, 0.2, MIN_SEEDS - 1, False),
    ],
)
def test_a_sign_is_sure_only_beyond_zero_and_from_five_seeds(
    low: float, high: float, n: int, sure: bool
) -> None:
    assert Interval((low + high) / 2, low, high, n).excludes_zero is sure
    assert MIN_SEEDS == 5
