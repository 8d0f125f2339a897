"""The sentences of evidence hold the right numbers: frames of round values, read back from the text."""

from typing import Any

import numpy as np
import pytest

from blockproof.ablations.cell import HEALTHY
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
    keys = ["n_layers", "residual_kind", "lr"]
    best = {(2, "add", 1e-3): 2.0, (2, "none", 3e-3): 2.25, (8, "add", 1e-3): 1.5, (8, "none", 3e-4): 3.0}
    runs = rounded(frame_of("residual", "runs"), keys, "score", best, 4.0)
    bare = runs[(runs["n_layers"] == 8) & (runs["residual_kind"] == "none")]
    runs = runs.assign(ended="finished")
    runs.loc[bare.index[:6], "ended"] = ["collapsed", "diverged"] * 3
    text = evidence("residual", "C18", runs=runs)
    assert said(text, f"by {sure('0.25')} nats at 2", f"by {sure('1.50')} at 8", f"{sure('1.25')} more")
    assert said(text, "15 runs without residuals", "6 end")


def test_how_gradients_run_through_the_deep_stack() -> None:
    values = {(8, "none", "block 0"): 3.0, (8, "none", "block 7"): 4.0, (8, "add", "block 0"): 25.0}
    layers = rounded(
        frame_of("residual", "layers"), ["n_layers", "residual_kind", "layer"], "grad_norm", values, 50.0
    )
    text = evidence("residual", "C18, reason", layers=layers)
    assert said(text, "8 layers", f"{sure('0.75')} without residuals", f"{sure('0.50')} with them")


def test_how_alike_tokens_are_behind_the_deep_stack() -> None:
    values = {(8, "none", "block 7"): 0.75, (8, "add", "block 7"): 0.25}
    layers = rounded(
        frame_of("residual", "layers"), ["n_layers", "residual_kind", "layer"], "likeness", values, 0.5
    )
    text = evidence("residual", "C18, instead", layers=layers)
    assert said(text, f"{sure('0.750')} without residuals", f"{sure('0.250')} with them")


@pytest.fixture
def norms() -> Frame:
    """Post-norm gains by warm-up at 3e-4; its best is 1e-3 with warm-up, or without when untied."""
    keys = ["norm_placement", "tied", "warmup", "lr"]
    values = {
        ("post", True, 0, 3e-4): 3.25, ("post", True, 50, 3e-4): 2.75, ("post", True, 50, 1e-3): 2.0,
        ("pre", True, 0, 3e-4): 1.75, ("pre", True, 50, 3e-4): 1.875, ("pre", True, 0, 1e-3): 1.5,
        ("post", False, 0, 1e-3): 2.0, ("pre", False, 0, 3e-3): 1.0,
    }  # fmt: skip
    return rounded(frame_of("norm_placement", "runs"), keys, "score", values, 4.0).assign(loss_at_init=4.0)


def test_what_warm_up_changes_at_the_claimed_rate(norms: Frame) -> None:
    """So many of five collapse, and only at this rate."""
    keys = ["norm_placement", "tied", "warmup", "lr", "seed"]
    count = {("post", 0): 4, ("post", 50): 1, ("pre", 0): 2, ("pre", 50): 3}
    lost = {(p, True, warmup, 3e-4, seed): 1.0 for (p, warmup), n in count.items() for seed in range(n)}
    runs = rounded(norms, keys, "lost", lost, 0.0)
    runs["ended"] = np.where(runs["lost"] == 1, "collapsed", "finished")
    text = evidence("norm_placement", "A15", runs=runs)
    assert said(text, "At 3e-4 and 12 layers", "4 of 5 post-norm", "1 with 50 updates", "of pre-norm 2 and 3")
    assert said(text, f"post-norm's final loss by {sure('−0.50')} nats", f"pre-norm's by {sure('0.12')}")


def test_how_far_apart_the_placements_are_at_their_best(norms: Frame) -> None:
    """Sensitivities: pre (2.5 · 4 + 0.25) / 6 above its best, post 3.25 the best of all 4s."""
    text = evidence("norm_placement", "C21", runs=norms)
    pre, post = (2.5 * 4 + 0.25) / 6, 0.75 * 5 / 6
    wider = f"{post - pre:.2f}".replace("-", "−")
    assert said(text, sure("0.50"), "tied head", sure("1.00"), "untied one", sure(wider))


def test_from_which_rate_on_runs_collapse(norms: Frame) -> None:
    broken = (norms["norm_placement"] == "post") & (norms["lr"] > 2e-3) & ~norms["tied"]
    runs = norms.assign(ended=np.where(broken, "collapsed", "finished"))
    nowhere = "nowhere in the grid"
    where = evidence("norm_placement", "A15, where", runs=runs)
    assert said(where, f"no warm-up, tied head: pre-norm {nowhere}, post-norm {nowhere}")
    assert said(where, f"no warm-up, untied head: pre-norm {nowhere}, post-norm 3e-3")
    whose = evidence("norm_placement", "A15, whose", runs=runs)
    assert said(whose, "from 3e-4 to 1e-2", f"{nowhere} with a tied head", "3e-3 with an untied one")


def test_how_far_logits_move() -> None:
    keys = ["position", "n_layers", "pair", "seed"]
    moved = frame_of("position", "permutation")
    values = {("none", 1, "clean", seed): (1 + seed) * 1e-16 for seed in range(5)}
    values |= {("none", 2, "clean", 3): 0.25, ("none", 1, "confounded", 2): 0.75}
    moved = rounded(moved, keys, "moved", values, 9.0)
    text = evidence("position", "C20", permutation=moved)
    assert said(text, "1 layer, 1.0e-16 to 5.0e-16; 2 layers, 0.25 to 9; 3 layers, 9 to 9", "below 1e-9")
    assert said(text, "1 layer moves by 0.75 or more")


def test_what_is_learnt_of_order() -> None:
    keys = ["position", "asked", "n_layers"]
    values = {("none", 1, 1): 1.375, ("none", 1, 2): 0.125, ("none", 4, 2): 0.75, ("learned", 4, 2): 0.25}
    order = rounded(frame_of("position", "order"), keys, "score", values, 9.0).assign(blind_loss=1.5)
    text = evidence("position", "C20, trained", order=order)
    assert said(text, "costs 1.50", f"end at {sure('1.38')} with 1 layer", f"at {sure('0.125')} with 2")
    assert said(text, f"2 layers without positions end at {sure('0.75')}", f"at {sure('0.250')}")


def test_what_positions_are_worth_on_text() -> None:
    text = rounded(frame_of("position", "text"), ["position"], "score", {("none",): 2.5}, 2.0)
    assert f"is {sure('0.500')} nats" in evidence("position", "C20, text", text=text)


def test_what_each_swap_changes() -> None:
    gaps = frame_of("swap", "gaps")
    keys = ["part", "choice"]
    values = {
        ("norm", "rmsnorm"): 0.5,
        ("positions", "rope"): -0.25,
        ("heads", "1"): 0.75,
        ("heads", "16"): 0.125,
    }
    gaps = rounded(gaps, keys, "gap", values | {("feed-forward", "swiglu"): -0.375}, 2.0)
    assert f"LayerNorm's is {sure('0.500')} nats" in evidence("swap", "D8", gaps=gaps)
    assert f"rope {sure('−0.250')}" in evidence("swap", "B8", gaps=gaps)
    heads = evidence("swap", "D3", gaps=gaps)
    assert said(heads, "with 4 heads", f"1 {sure('0.750')}", f"16 {sure('0.125')}", f"by {sure('0.625')}")
    assert f"is {sure('−0.375')} nats" in evidence("swap", "C11", gaps=gaps)


@pytest.fixture
def faults() -> dict[str, Frame]:
    """Of ten faults two are too good, of which one is honestly worse, one is alike and the others too bad."""
    frames = Results("gallery", fabricated.records("gallery")).frames
    known = dict.fromkeys(frames["runs"]["fault"])
    reported = {("no shift",): 1.0, ("no mask",): 1.5, ("wrong scale",): 2.02, (HEALTHY,): 2.0}
    runs = rounded(frames["runs"], ["fault"], "score", reported, 3.0).assign(ended="finished")
    runs = rounded(runs, ["fault"], "honest", {("no shift",): 9.0}, 2.0)
    keys, updates = ["fault", "step"], frames["updates"]
    late = {("no shift", 0): 3.0, ("no mask", 100): 3.0, ("no residual", 50): 3.0}
    steep = {("no residual", 0): 2.0, ("no mask", 100): 0.5, ("softmax twice", 200): 9.0}
    updates = rounded(updates, keys, "loss", late, 1.0)
    assert len(known) == 11
    return {"runs": runs, "updates": rounded(updates, keys, "grad_norm", steep, 1.0)}


def test_what_a_falling_loss_hides(faults: dict[str, Frame]) -> None:
    text = evidence("gallery", "C9, on text", **faults)
    assert said(
        text, "10 faults leave", "or lower, for 3 (no shift, no mask, wrong scale)", "for 1 (no shift)"
    )
    lost = faults["runs"].assign(
        ended=np.where(faults["runs"]["fault"] == "no mask", "collapsed", "finished")
    )
    assert said(
        evidence("gallery", "C9, on text", **faults | {"runs": lost}), "9 faults leave", "2 (no shift, wrong"
    )


def test_on_which_side_the_loss_of_each_fault_ends(faults: dict[str, Frame]) -> None:
    text = evidence("gallery", "C9, both sides", **faults)
    assert said(text, "too low for 2 (no shift, no mask)", "too high for 7 (double shift, mask transposed")
    assert said(text, "within 0.05 nats for 1 (wrong scale)", "cannot be told for 0.")
    text = evidence("gallery", "C10, on text", **faults)
    assert said(text, "2 (no shift, no mask) end too low", "others 0.", "honestly, 1 of")


def test_what_shows_a_fault_first(faults: dict[str, Frame]) -> None:
    text = evidence("gallery", "C10, first", **faults)
    assert said(
        text, "loss is off first, by 0.05 nats, for 1 (no shift)", "1.5, for 2 (softmax twice, no resid"
    )
    assert said(text, "both at once for 1 (no mask)", "off for 6 (double shift, mask transposed, wrong scale")
