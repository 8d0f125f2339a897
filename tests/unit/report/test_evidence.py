"""The sentences of evidence hold the right numbers: frames of round values, read back from the text."""

from typing import Any

import numpy as np
import pytest

from blockproof.ablations.frame import Frame
from blockproof.ablations.study import Results
from blockproof.report.numbers import unmark
from blockproof.report.verdicts import VERDICTS
from blockproof.tests.unit.ablations import fabricated

Rows = dict[tuple[Any, ...], float]


def rounded(rows: Frame, keys: list[str], column: str, values: Rows, otherwise: float) -> Frame:
    """A column with these values by the key columns, and everywhere else another."""
    found = [values.get(key, otherwise) for key in rows[keys].itertuples(index=False, name=None)]
    return rows.assign(**{column: found})


def evidence(name: str, claim: str, **changed: Frame) -> str:
    """The evidence for a claim when some frames are others."""
    frames = Results(name, fabricated.records(name)).frames | changed
    return unmark(next(v.evidence for v in VERDICTS[name](frames) if v.claim == claim))


def frame_of(name: str, key: str) -> Frame:
    return Results(name, fabricated.records(name)).frames[key]


def said(text: str, *parts: str) -> bool:
    """Whether the parts stand in the text in this order."""
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


def sure(value: str) -> str:
    """A value that is the same for all seeds, as an interval."""
    return f"{value} [{value}, {value}]"


def test_what_residuals_cost_at_each_depth_s_best_rate() -> None:
    keys = ["n_layers", "residual", "lr"]
    best = {(2, "add", 1e-3): 2.0, (2, "none", 3e-3): 2.25, (8, "add", 1e-3): 1.5, (8, "none", 3e-4): 3.0}
    runs = rounded(frame_of("residual", "runs"), keys, "score", best, 4.0)
    bare = runs[(runs["n_layers"] == 8) & (runs["residual"] == "none")]
    runs = runs.assign(ended="finished")
    runs.loc[bare.index[:6], "ended"] = ["collapsed", "diverged"] * 3
    text = evidence("residual", "C18", runs=runs)
    assert said(
        text, f"costs {sure('0.25')} nats at 2 layers", f"{sure('1.50')} at 8", "the 15 runs", "6 end"
    )


def test_how_gradient_and_likeness_run_through_the_deep_stack() -> None:
    keys = ["n_layers", "residual", "layer"]
    layers = frame_of("residual", "layers")
    gradients = {(8, "none", "block 0"): 3.0, (8, "none", "block 7"): 4.0}
    layers = rounded(layers, keys, "grad_norm", gradients, 50.0)
    likeness = {(8, "none", "block 7"): 0.75, (8, "add", "block 7"): 0.25}
    layers = rounded(layers, keys, "likeness", likeness, 0.5)
    text = evidence("residual", "C18, reason", layers=layers)
    assert said(text, sure("0.75"), "0.750 without residuals", "0.250 with them")


@pytest.fixture
def norms() -> Frame:
    """Post-norm gains by warm-up at 3e-4; its best is 1e-3 with warm-up, or without when untied."""
    keys = ["placement", "tied", "warmup", "lr"]
    values = {
        ("post", True, 0, 3e-4): 3.25, ("post", True, 50, 3e-4): 2.75, ("post", True, 50, 1e-3): 2.0,
        ("pre", True, 0, 3e-4): 1.75, ("pre", True, 50, 3e-4): 1.875, ("pre", True, 0, 1e-3): 1.5,
        ("post", False, 0, 1e-3): 2.0, ("pre", False, 0, 3e-3): 1.0,
    }  # fmt: skip
    return rounded(frame_of("norm_placement", "runs"), keys, "score", values, 4.0).assign(loss_at_init=4.0)


def test_what_warm_up_changes_at_the_claimed_rate(norms: Frame) -> None:
    text = evidence("norm_placement", "A15", runs=norms)
    assert said(text, "At 3e-4, 12 layers", "5 of 5", "warm-up of 50", sure("−0.50"), sure("0.12"))


def test_how_far_apart_the_placements_are_at_their_best(norms: Frame) -> None:
    """Sensitivities: pre (2.5 · 4 + 0.25) / 6 above its best, post 3.25 the best of all 4s."""
    text = evidence("norm_placement", "C21", runs=norms)
    pre, post = (2.5 * 4 + 0.25) / 6, 0.75 * 5 / 6
    wider = f"{post - pre:.2f}".replace("-", "−")
    assert said(text, sure("0.50"), "tied head", sure("1.00"), "untied one", sure(wider))


def test_from_which_rate_on_runs_collapse(norms: Frame) -> None:
    broken = (norms["placement"] == "post") & (norms["lr"] > 2e-3) & ~norms["tied"]
    runs = norms.assign(ended=np.where(broken, "collapsed", "finished"))
    text = evidence("norm_placement", "A15, where", runs=runs)
    nowhere = "no warm-up, tied head: post-norm none in the grid"
    assert said(text, nowhere, "untied head: post-norm 3e-3, pre-norm none in the grid")


def test_how_far_logits_move() -> None:
    keys = ["position", "n_layers", "pair", "seed"]
    moved = frame_of("position", "permutation")
    values = {("none", 1, "clean", seed): (1 + seed) * 1e-16 for seed in range(5)}
    values |= {("none", 2, "clean", 3): 0.25, ("none", 1, "confounded", 2): 0.75}
    moved = rounded(moved, keys, "moved", values, 9.0)
    text = evidence("position", "C20", permutation=moved)
    assert said(
        text, "1 layer move by at most 5.0e-16", "2 to 3 layers by at least 0.25", "moves by 0.75 or more"
    )


def test_what_is_learnt_of_order() -> None:
    keys = ["position", "asked", "n_layers"]
    values = {("none", 1, 1): 1.375, ("none", 1, 2): 0.125, ("none", 4, 2): 0.75, ("learned", 4, 2): 0.25}
    order = rounded(frame_of("position", "order"), keys, "score", values, 9.0).assign(blind_loss=1.5)
    text = evidence("position", "C20, trained", order=order)
    wanted = (
        "costs 1.50",
        f"ends at {sure('1.38')}",
        f"at {sure('0.125')}",
        f"end at {sure('0.75')}",
        sure("0.250"),
    )
    assert said(text, *wanted)


def test_what_positions_are_worth_on_text() -> None:
    text = rounded(frame_of("position", "text"), ["position"], "score", {("none",): 2.5}, 2.0)
    assert f"ends {sure('0.500')} nats above" in evidence("position", "C20, text", text=text)
