"""Comparisons, on numbers small enough to be done by hand."""

import math

import pandas as pd
import pytest

from blockproof.ablations.frame import Frame, variables
from blockproof.ablations.views import norm_placement
from blockproof.ablations.views.compare import (
    at_best_rate,
    best_rates,
    describe,
    difference,
    geometric_spread,
)
from blockproof.ablations.views.norm_placement import BY, breaking_rate, sensitivity, table
from blockproof.tests.unit.ablations.fabricated import records

# Two variants at two rates: scores of three seeds, and how they ended. By its mean, a is best at
# 0.1; its lowest run and its median would say 0.2.
SCORES = {
    ("a", 0.1): [(2.0, "finished"), (2.0, "finished"), (2.0, "finished")],
    ("a", 0.2): [(1.0, "finished"), (1.0, "finished"), (9.0, "collapsed")],
    ("b", 0.1): [(4.0, "diverged"), (4.0, "diverged"), (4.0, "collapsed")],
    ("b", 0.2): [(3.0, "finished"), (3.5, "collapsed"), (2.5, "diverged")],
}
RUNS = Frame(
    {"kind": kind, "lr": lr, "seed": seed, "score": score, "loss_at_init": 5.0, "ended": ended}
    for (kind, lr), runs in SCORES.items()
    for seed, (score, ended) in enumerate(runs)
)


def test_the_best_rate_has_the_lowest_mean() -> None:
    assert best_rates(RUNS, ["kind"]).to_dict("list") == {"kind": ["a", "b"], "lr": [0.1, 0.2]}


def test_rows_at_the_best_rate() -> None:
    chosen = at_best_rate(RUNS, best_rates(RUNS, ["kind"]))
    assert list(zip(chosen["kind"], chosen["lr"], strict=True)) == [("a", 0.1)] * 3 + [("b", 0.2)] * 3


def test_a_variant_is_described_at_its_best_rate() -> None:
    rows = describe(RUNS, ["kind"]).set_index("kind")
    assert rows["loss"].to_dict() == {"a": 2.0, "b": 3.0}
    assert rows["collapsed"].to_dict() == {"a": 0, "b": 2}
    assert rows["seeds"].to_dict() == {"a": 3, "b": 3}
    assert rows["edge"].to_dict() == {"a": -1, "b": 1}


def test_a_best_rate_inside_of_the_grid_is_no_edge() -> None:
    wider = pd.concat([RUNS, RUNS.assign(lr=RUNS["lr"] * 3, score=RUNS["score"] + 9)])
    edges = describe(wider, ["kind"]).set_index("kind")["edge"]
    assert edges.to_dict() == {"a": -1, "b": 0}


def test_differences_are_taken_seed_by_seed_whatever_the_order_of_rows() -> None:
    chosen = at_best_rate(RUNS, best_rates(RUNS, ["kind"]))
    gap = difference(chosen.sort_values("score", ascending=False), "kind", "b", "a")
    assert (gap.mean, gap.n) == (1.0, 3)
    # Student's t for the pairs' 1, 1.5 and 0.5: half-width 4.30265 · 0.5 / √3
    assert gap.high == pytest.approx(1 + 4.30265 * 0.5 / math.sqrt(3), abs=1e-5)


def test_each_seed_is_compared_with_itself() -> None:
    """Both variants rise by 9 over their seeds, in another order: sorted, all differences would be 1."""
    scores = {"a": [0.0, 9.0, 3.0], "b": [10.0, 1.0, 4.0]}
    rows = Frame({"kind": k, "seed": s, "score": x} for k, each in scores.items() for s, x in enumerate(each))
    gap = difference(rows, "kind", "b", "a")
    spread = math.sqrt(((10 - 1) ** 2 + (-8 - 1) ** 2) / 2)
    assert gap.mean == pytest.approx(1)
    assert gap.high == pytest.approx(1 + 4.30265 * spread / math.sqrt(3), rel=1e-5)


def test_a_seed_that_one_variant_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        difference(RUNS[RUNS["lr"] == 0.1].iloc[:-1], "kind", "a", "b")


def test_sensitivity_is_the_mean_distance_to_the_best_rate_capped_at_init() -> None:
    """Seeds 0 and 1 of a: 2 and 1 → (1 + 0) / 2. Seed 2: 2 and min(9, 5) → (0 + 3) / 2."""
    assert sensitivity(RUNS[RUNS["kind"] == "a"]).tolist() == [0.5, 0.5, 1.5]


@pytest.mark.parametrize(
    ("lost", "rate"),
    [
        ([0, 0, 0, 0], math.inf),
        ([0, 0, 1, 0], math.inf),  # fewer than half
        ([0, 0, 2, 4], 0.3),
        ([4, 0, 0, 4], 0.4),  # below its best rate it has not learnt yet
        ([0, 4, 4, 4], 0.2),  # and a rate at which half are lost is not the best
        ([4, 4, 4, 4], 0.1),
    ],
)
def test_a_variant_breaks_at_the_first_rate_above_its_best_where_half_are_lost(
    lost: list[int], rate: float
) -> None:
    """Of four seeds, so many are lost at rates 0.1 … 0.4; by the scores alone 0.2 is best."""
    runs = Frame(
        {
            "lr": lr,
            "score": score,
            "ended": ("collapsed", "diverged")[seed % 2] if seed < count else "finished",
        }
        for lr, score, count in zip((0.1, 0.2, 0.3, 0.4), (3.0, 1.0, 2.0, 4.0), lost, strict=True)
        for seed in range(4)
    )
    assert breaking_rate(runs) == rate


def test_geometric_spread() -> None:
    """Logs of 1 and e² deviate by √2."""
    assert geometric_spread(pd.Series([1.0, math.e**2])) == pytest.approx(math.exp(math.sqrt(2)))


def test_breaking_rates_of_all_variants() -> None:
    rows = table(norm_placement.frames(records("norm_placement")))
    assert {tuple(values): rate for *values, rate in rows[[*BY, "breaks_at"]].itertuples(index=False)} == {
        ("pre", True, 0): 3e-2, ("pre", True, 50): 3e-2, ("pre", False, 0): 1e-2,
        ("post", True, 0): 3e-4, ("post", True, 50): 3e-3, ("post", False, 0): 3e-3,
    }  # fmt: skip


def test_the_gradients_of_a_run_with_warm_up_are_all_there() -> None:
    """Its updates are at many rates; all belong to the run."""
    shown = norm_placement.frames(records("norm_placement"))["gradients"]
    assert len(set(shown.groupby([*BY, "seed"]).size())) == 1


def test_a_variant_s_early_loss_and_gradients_are_those_at_its_best_rate() -> None:
    frames = norm_placement.frames(records("norm_placement"))
    first = int(frames["runs"]["eval_every"].iloc[0])
    assert set(frames["early"]["step"]) == {first}
    for row in table(frames).to_dict("records"):
        best = [r for r in records("norm_placement") if all(variables(r)[k] == row[k] for k in [*BY, "lr"])]
        losses = [loss for r in best for step, loss in r.result["validation"] if step == first]
        spreads = [geometric_spread(pd.Series([point[3] for point in r.result["training"]])) for r in best]
        assert row["seeds"] == len(best) == len(losses)
        assert row["early"] == pytest.approx(sum(losses) / len(losses))
        assert row["fluctuation"] == pytest.approx(sum(spreads) / len(spreads))
