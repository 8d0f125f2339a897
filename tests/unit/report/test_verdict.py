"""From intervals to words: the whole interval decides, and the variant with the fewest seeds."""

import pandas as pd
import pytest

from blockproof.ablations.statistics import MIN_SEEDS, Interval, t_interval
from blockproof.report.verdict import FAILS, HOLDS, UNDECIDED, judged, positive
from blockproof.report.verdicts.training import AGREES, verdicts


def test_the_variant_with_the_fewest_seeds_decides() -> None:
    assert judged(HOLDS, [MIN_SEEDS, MIN_SEEDS + 4]) == HOLDS
    assert judged(HOLDS, [MIN_SEEDS + 4, MIN_SEEDS - 1]).startswith("not judged: ")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.1, 1.9, HOLDS),
        (-1.9, -0.1, FAILS),
        (-0.1, 2.0, UNDECIDED),
        (-2.0, 0.1, UNDECIDED),
        (0.0, 2.0, UNDECIDED),
        (-2.0, 0.0, UNDECIDED),
    ],
)
def test_a_difference_has_three_sides(low: float, high: float, expected: str) -> None:
    assert positive(Interval((low + high) / 2, low, high, MIN_SEEDS)) == expected


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([9.0, 10.0, 11.0, 10.0, 10.0], HOLDS),
        ([1.0, 19.0, 10.0, 2.0, 18.0], UNDECIDED),  # the mean agrees, the runs do not
        ([20.0, 21.0, 20.0, 22.0, 20.0], FAILS),
        ([5.0, 5.1, 5.2, 5.0, 5.1], FAILS),
    ],
)
def test_times_agree_only_with_their_whole_interval(times: list[float], expected: str) -> None:
    """The largest model's operations are ten times the smallest's."""
    interval = t_interval(times)
    assert (interval.low > 10 / AGREES and interval.high < 10 * AGREES) == (expected == HOLDS)
    speed = pd.DataFrame({"operations": 10, "operations_ratio": 10.0, "seconds_ratio": times})
    toy = pd.DataFrame({"score": times, "blind_loss": 3.0, "steps": 9, "loss_at_init": 4.0})
    assert verdicts({"toy": toy, "speed": speed})[1].verdict == expected
