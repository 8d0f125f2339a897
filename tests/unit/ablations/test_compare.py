"""Comparisons, on numbers small enough to be done by hand."""

import math

import pandas as pd
import pytest

from blockproof.ablations.frame import Frame
from blockproof.ablations.views import norm_placement
from blockproof.ablations.views.compare import (
    at_best_rate,
    best_rates,
    describe,
    difference,
    geometric_spread,
)
from blockproof.ablations.views.norm_placement import BY, collapse_by_rate, sensitivity, table
from blockproof.tests.unit.ablations.fabricated import records

# Two variants at two rates with two seeds. By its mean, a is best at 0.1; its lowest single run,
# its lowest median and its first row would each say otherwise, or nothing.
RUNS = Frame(
    [
        ("a", 0.1, 0, 2.0, 5.0, "finished"), ("a", 0.1, 1, 2.0, 5.0, "finished"),
        ("a", 0.2, 0, 1.0, 5.0, "finished"), ("a", 0.2, 1, 9.0, 5.0, "collapsed"),
        ("b", 0.1, 0, 4.0, 5.0, "diverged"), ("b", 0.1, 1, 4.0, 5.0, "collapsed"),
        ("b", 0.2, 0, 3.0, 5.0, "finished"), ("b", 0.2, 1, 3.5, 5.0, "collapsed"),
    ],
    columns=["kind", "lr", "seed", "score", "loss_at_init", "ended"],
)  # fmt: skip


def test_the_best_rate_has_the_lowest_mean() -> None:
    assert best_rates(RUNS, ["kind"]).to_dict("list") == {"kind": ["a", "b"], "lr": [0.1, 0.2]}


def test_rows_at_the_best_rate() -> None:
    chosen = at_best_rate(RUNS, best_rates(RUNS, ["kind"]))
    assert list(zip(chosen["kind"], chosen["lr"], strict=True)) == [("a", 0.1)] * 2 + [("b", 0.2)] * 2


def test_a_variant_is_described_at_its_best_rate() -> None:
    rows = describe(RUNS, ["kind"]).set_index("kind")
    assert rows["loss"].to_dict() == {"a": 2.0, "b": 3.25}
    assert rows["collapsed"].to_dict() == {"a": 0, "b": 1}
    assert rows["seeds"].to_dict() == {"a": 2, "b": 2}


def test_differences_are_taken_seed_by_seed_whatever_the_order_of_rows() -> None:
    chosen = at_best_rate(RUNS, best_rates(RUNS, ["kind"]))
    gap = difference(chosen.sort_values("score", ascending=False), "kind", "b", "a")
    assert (gap.mean, gap.n) == (1.25, 2)
    # Student's t for two pairs, 1 and 1.5: half-width 12.7062 · 0.25
    assert gap.high == pytest.approx(1.25 + 12.7062 * 0.25, abs=1e-4)


def test_a_seed_that_one_variant_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        difference(
            RUNS[(RUNS["lr"] == 0.1) & ~((RUNS["kind"] == "b") & (RUNS["seed"] == 1))], "kind", "a", "b"
        )


def test_sensitivity_is_the_mean_distance_to_the_best_rate_capped_at_init() -> None:
    """Seed 0 of a: 2 and 1 → ((2-1) + 0) / 2. Seed 1: 2 and min(9, 5) → (0 + 3) / 2."""
    assert sensitivity(RUNS[RUNS["kind"] == "a"]).tolist() == [0.5, 1.5]


def test_collapse_by_rate_counts_collapsed_and_diverged_runs() -> None:
    assert collapse_by_rate(RUNS[RUNS["kind"] == "a"]).to_dict() == {0.1: 0.0, 0.2: 0.5}
    assert collapse_by_rate(RUNS[RUNS["kind"] == "b"]).to_dict() == {0.1: 1.0, 0.2: 0.5}


def test_geometric_spread() -> None:
    """Logs of 1 and e² deviate by √2."""
    assert geometric_spread(pd.Series([1.0, math.e**2])) == pytest.approx(math.exp(math.sqrt(2)))


def test_a_variant_trains_up_to_the_last_rate_before_any_collapse() -> None:
    rows = table(norm_placement.frames(records("norm_placement")))
    assert {tuple(values): rate for *values, rate in rows[[*BY, "trains_to"]].itertuples(index=False)} == {
        ("pre", True, 0): 1e-2, ("pre", True, 50): 1e-2, ("pre", False, 0): 3e-3,
        ("post", True, 0): 1e-4, ("post", True, 50): 1e-3, ("post", False, 0): 1e-3,
    }  # fmt: skip


def test_the_gradients_of_a_run_with_warm_up_are_all_there() -> None:
    """Its updates are at many rates; all belong to the run."""
    shown = norm_placement.frames(records("norm_placement"))["gradients"]
    assert len(set(shown.groupby([*BY, "seed"]).size())) == 1
