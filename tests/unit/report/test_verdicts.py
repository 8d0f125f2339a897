"""Each verdict falls on every side of its claim, and is withheld when seeds are few."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from blockproof.ablations.cell import HEALTHY
from blockproof.ablations.frame import Frame
from blockproof.ablations.study import Results
from blockproof.report.numbers import unmark
from blockproof.report.verdict import FAILS, HOLDS, UNDECIDED, Verdict
from blockproof.report.verdicts import VERDICTS
from blockproof.report.verdicts.residual import first_to_last
from blockproof.tests.unit.ablations import fabricated

Frames = dict[str, Frame]
UNTIED = "holds when the head is untied"
EXACTLY_ONE = "holds when there is 1 layer"
ONE_PLACE = "holds when one place is asked for"
SOUND = 2.396  # nats, where fabricated runs of sound code end


def setting(frame: str, column: str, value: Any, **where: Any) -> Callable[[Frames], Frames]:
    """A change of a column in the rows with these values; ``value`` may be a function of it."""

    def change(frames: Frames) -> Frames:
        rows = frames[frame].copy()
        chosen = np.logical_and.reduce([rows[key] == wanted for key, wanted in where.items()])
        rows.loc[chosen, column] = value(rows.loc[chosen, column]) if callable(value) else value
        return {**frames, frame: rows}

    return change


def at_one_rate(frames: Frames) -> Frames:
    """Post-norm breaks at the same rate in every setting."""
    whole = setting("runs", "ended", "finished", norm_placement="post")(frames)
    return setting("runs", "ended", "collapsed", norm_placement="post", lr=3e-3)(whole)


def faulty(frame: str, column: str, value: Any) -> Callable[[Frames], Frames]:
    """The same value for every run with a fault."""

    def change(frames: Frames) -> Frames:
        rows = frames[frame].copy()
        rows.loc[rows["fault"] != HEALTHY, column] = value
        return {**frames, frame: rows}

    return change


def in_all_batches(**same: float) -> Callable[[Frames], Frames]:
    """Every batch has this loss, or gradient norm."""
    return lambda frames: {**frames, "updates": frames["updates"].assign(**same)}


def unchanged(frames: Frames) -> Frames:
    return frames


@cache
def frames_of(name: str) -> Frames:
    """Of fabricated records; a change makes new ones."""
    return Results(name, fabricated.records(name)).frames


def verdict(name: str, claim: str, change: Callable[[Frames], Frames] = unchanged) -> str:
    """What is said of a claim when the fabricated frames are changed."""
    frames = change(frames_of(name))
    return unmark(next(v for v in VERDICTS[name](frames) if v.claim == claim).verdict)


COLD = {"lr": 3e-4, "warmup": 0}
POST = {"norm_placement": "post"}
DEEP = {"n_layers": 8, "residual_kind": "none"}


@pytest.mark.parametrize(
    ("name", "claim", "change", "expected"),
    [
        ("residual", "C18", unchanged, HOLDS),
        # The deep stack must lose more than the shallow one, which loses 0.05 nats.
        ("residual", "C18", setting("runs", "score", lambda s: s - 0.35, **DEEP), UNDECIDED),
        ("residual", "C18", setting("runs", "score", lambda s: s - 0.8, **DEEP), FAILS),
        ("residual", "C18, reason", unchanged, FAILS),
        ("residual", "C18, reason", setting("layers", "grad_norm", 1e-2, layer="block 0"), HOLDS),
        ("residual", "C18, instead", unchanged, UNDECIDED),
        ("residual", "C18, instead", setting("layers", "likeness", 0.95, residual_kind="none"), HOLDS),
        ("residual", "C18, instead", setting("layers", "likeness", 0.05, residual_kind="none"), FAILS),
        ("norm_placement", "A15", unchanged, HOLDS),
        ("norm_placement", "A15", setting("runs", "ended", "finished", **POST, **COLD), FAILS),
        ("norm_placement", "A15", setting("runs", "ended", "collapsed", norm_placement="pre", **COLD), FAILS),
        ("norm_placement", "A15", setting("runs", "ended", "collapsed", **POST, lr=3e-4), FAILS),
        ("norm_placement", "A15, where", unchanged, HOLDS),
        ("norm_placement", "A15, where", setting("runs", "ended", "finished", n_layers=12), UNDECIDED),
        ("norm_placement", "A15, where", setting("runs", "ended", "finished", **POST), FAILS),
        ("norm_placement", "A15, where", setting("runs", "ended", "collapsed", lr=3e-3, tied=False), FAILS),
        ("norm_placement", "A15, whose", unchanged, FAILS),
        ("norm_placement", "A15, whose", at_one_rate, HOLDS),
        ("norm_placement", "A15, whose", setting("runs", "ended", "finished", **POST), UNDECIDED),
        ("norm_placement", "C21", unchanged, HOLDS),
        ("norm_placement", "C21", setting("runs", "score", lambda s: s - 0.6, **POST, tied=True), UNTIED),
        ("norm_placement", "C21", setting("runs", "score", lambda s: s - 0.6, **POST), FAILS),
        ("norm_placement", "C21", setting("runs", "score", lambda s: s - 0.3, **POST), UNDECIDED),
        ("position", "C20", unchanged, EXACTLY_ONE),
        ("position", "C20", setting("permutation", "moved", 1e-12, pair="clean"), HOLDS),
        ("position", "C20", setting("permutation", "moved", 1e-6, n_layers=1), FAILS),
        ("position", "C20", setting("permutation", "moved", 1e-12, n_layers=3), FAILS),
        ("position", "C20", setting("permutation", "moved", 1e-6, seed=2, n_layers=1), UNDECIDED),
        ("position", "C20, trained", unchanged, ONE_PLACE),
        ("position", "C20, trained", setting("order", "score", 0.1, n_layers=2), HOLDS),
        ("position", "C20, trained", setting("order", "score", 1.386, n_layers=2, asked=1), FAILS),
        ("position", "C20, trained", setting("order", "score", 1.2, n_layers=2, asked=1), UNDECIDED),
        ("position", "C20, trained", setting("order", "score", 0.5, n_layers=1, asked=1), UNDECIDED),
        ("position", "C20, text", unchanged, HOLDS),
        ("position", "C20, text", setting("text", "score", lambda s: s - 0.2, position="none"), UNDECIDED),
        ("position", "C20, text", setting("text", "score", lambda s: s - 0.5, position="none"), FAILS),
        ("swap", "D8", unchanged, HOLDS),
        ("swap", "D8", setting("gaps", "gap", 0.03, choice="rmsnorm"), FAILS),
        ("swap", "D8", setting("gaps", "gap", -0.03, choice="rmsnorm"), FAILS),
        ("swap", "D8", setting("gaps", "gap", 0.03, choice="rmsnorm", seed=1), UNDECIDED),
        ("swap", "B8", unchanged, HOLDS),
        ("swap", "B8", setting("gaps", "gap", -0.03, choice="sinusoidal"), FAILS),
        ("swap", "B8", setting("gaps", "gap", -0.019, choice="sinusoidal"), HOLDS),
        ("swap", "B8", setting("gaps", "gap", -0.2, choice="sinusoidal", seed=1), UNDECIDED),
        ("swap", "D3", unchanged, UNDECIDED),
        ("swap", "D3", setting("gaps", "gap", 0.05, choice="1"), HOLDS),
        ("swap", "D3", setting("gaps", "gap", 0.05, choice="16"), FAILS),
        ("swap", "C11", unchanged, HOLDS),
        ("swap", "C11", setting("gaps", "gap", 0.01, choice="swiglu"), FAILS),
        ("swap", "C11", setting("gaps", "gap", 0.1, choice="swiglu", seed=1), UNDECIDED),
        ("gallery", "C9, on text", unchanged, FAILS),
        ("gallery", "C9, on text", faulty("runs", "score", 3.0), HOLDS),
        ("gallery", "C9, on text", faulty("runs", "ended", "collapsed"), HOLDS),
        ("gallery", "C9, on text", faulty("runs", "honest", SOUND), UNDECIDED),
        ("gallery", "C9, both sides", unchanged, FAILS),
        ("gallery", "C9, both sides", faulty("runs", "score", 3.0), HOLDS),
        ("gallery", "C9, both sides", faulty("runs", "score", 1.0), HOLDS),
        ("gallery", "C9, both sides", faulty("runs", "score", SOUND + 0.05), UNDECIDED),
        ("gallery", "C10, on text", unchanged, HOLDS),
        ("gallery", "C10, on text", setting("runs", "score", 1.0, fault="double shift"), FAILS),
        ("gallery", "C10, on text", setting("runs", "score", SOUND, fault="no mask"), FAILS),
        ("gallery", "C10, on text", setting("runs", "score", 5.0, fault="no mask", seed=1), UNDECIDED),
        ("gallery", "C10, on text", setting("runs", "honest", SOUND, fault="no mask"), UNDECIDED),
        ("gallery", "C10, first", unchanged, FAILS),
        ("gallery", "C10, first", in_all_batches(grad_norm=1.0), HOLDS),
        ("gallery", "C10, first", in_all_batches(loss=1.0, grad_norm=1.0), UNDECIDED),
    ],
)  # fmt: skip
def test_every_side(name: str, claim: str, change: Callable[[Frames], Frames], expected: str) -> None:
    assert verdict(name, claim, change) == expected


def with_seeds(count: int) -> Callable[[Frames], Frames]:
    return lambda frames: {key: rows[rows["seed"] < count] for key, rows in frames.items()}


def all_verdicts(change: Callable[[Frames], Frames] = unchanged) -> list[Verdict]:
    frames = {name: change(Results(name, fabricated.records(name)).frames) for name in VERDICTS}
    return [verdict for name, judge in VERDICTS.items() for verdict in judge(frames[name])]


def test_four_seeds_give_no_verdict_but_the_evidence() -> None:
    few = all_verdicts(with_seeds(4))
    assert {unmark(each.verdict) for each in few} == {"not judged: 4 seeds"}
    assert all(each.evidence for each in few)
    assert not [each for each in all_verdicts(with_seeds(5)) if "not judged" in each.verdict]


def test_every_claim_is_judged_once() -> None:
    claims = [each.claim for each in all_verdicts()]
    assert len(set(claims)) == len(claims)


def test_the_ratio_of_gradients_is_of_the_first_to_the_last_block() -> None:
    frames = Results("residual", fabricated.records("residual")).frames
    layers = setting("layers", "grad_norm", 2.0, layer="block 7")(
        setting("layers", "grad_norm", 0.5, layer="block 0")(frames)
    )["layers"]
    deep = layers[(layers["n_layers"] == 8) & (layers["residual_kind"] == "none")]
    assert first_to_last(deep).mean == pytest.approx(np.log(0.25))
