"""A result depends on the cell alone, says how the run ended, and fits into JSON."""

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blockproof.ablations.cell import Cell
from blockproof.ablations.runs import COLLAPSE_MARGIN, RUNS, how_it_ended, rounded, run
from blockproof.model.history import History, ValidationPoint
from blockproof.model.source import make_source
from blockproof.tests.unit.ablations.samples import DIVERGING, SYMBOLS, TINY, cells

BLIND = math.log(SYMBOLS)


def permutation(position: str, layers: int) -> list[Cell]:
    wanted = {"position": position, "n_layers": layers}
    return [c for c in cells("position") if c.run == "permutation" and wanted.items() <= c.model.items()]


@pytest.fixture
def two_threads() -> Iterator[None]:
    """As on a machine where nobody limits torch."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_repeats_bit_by_bit_whatever_was_drawn_before() -> None:
    """The cell has dropout, so that even draws in training must not depend on what came before."""
    first = run(TINY)
    torch.manual_seed(123)
    torch.rand(7)
    assert run(TINY) == first


@pytest.mark.usefixtures("two_threads")
def test_runs_on_one_thread_and_gives_the_others_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the run raises."""

    def fail(cell: Cell) -> dict[str, Any]:
        raise ZeroDivisionError(torch.get_num_threads())

    monkeypatch.setitem(RUNS, "train", fail)
    with pytest.raises(ZeroDivisionError, match="1"):
        run(TINY)
    assert torch.get_num_threads() == 2


def test_another_seed_gives_another_result() -> None:
    one, other = run(TINY), run(TINY.replace({"seed": 1}))
    assert one["loss_at_init"] != other["loss_at_init"]
    assert one["training"] != other["training"]


def test_what_a_finished_run_tells() -> None:
    result = run(TINY)
    assert result["final_loss"] == result["validation"][-1][1]
    assert result["loss_at_init"] == result["validation"][0][1]
    assert [step for step, _ in result["validation"]] == [0, 2, 3]
    assert [point["step"] for point in result["layers"]] == [0, 2]
    assert result["diverged_at"] is None
    assert (result["blind_loss"], result["floor"]) == (rounded(BLIND), 0.0)
    assert result["tokens"] == 3 * 4 * (SYMBOLS + 1)


def test_a_diverged_run_is_a_result() -> None:
    result = run(DIVERGING)
    assert result["ended"] == "diverged"
    assert result["final_loss"] is None
    assert 0 < result["diverged_at"] <= 3
    assert result["tokens"] == result["diverged_at"] * 4 * (SYMBOLS + 1)
    json.dumps(result, allow_nan=False)


@pytest.mark.parametrize(
    ("last", "diverged_at", "ended"),
    [
        (BLIND - COLLAPSE_MARGIN - 0.001, None, "finished"),
        (BLIND - COLLAPSE_MARGIN + 0.001, None, "collapsed"),
        (BLIND + 5, None, "collapsed"),
        (0.0, 7, "diverged"),
    ],
)
def test_how_it_ended(last: float, diverged_at: int | None, ended: str) -> None:
    """The blind loss is where a collapsed model ends: what is well below it has learnt something."""
    history = History(validation=[ValidationPoint(0, 0.0), ValidationPoint(3, last)], diverged_at=diverged_at)
    assert how_it_ended(history, make_source(TINY.data, TINY.model["context"])) == ended


@pytest.mark.parametrize(
    ("position", "layers", "pair", "told"),
    [
        ("none", 1, "clean", False),
        ("none", 2, "clean", True),
        ("none", 3, "clean", True),
        ("none", 1, "confounded", True),
        ("learned", 1, "clean", True),
    ],
)
def test_what_permuted_tokens_show(position: str, layers: int, pair: str, told: bool) -> None:
    """Rounding leaves about 1e-15: nothing lies between 1e-9 and 1e-3, on any seed."""
    moved = [run(cell)["moved"][pair] for cell in permutation(position, layers)]
    assert len(moved) == 5
    assert min(moved) > 1e-3 if told else max(moved) < 1e-9


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_rounding_loses_no_float32(value: float) -> None:
    assert np.float32(rounded(value)) == np.float32(value)


def test_rounding_reaches_all_parts() -> None:
    long, short = 1 / 3, 0.333333333
    assert rounded({"a": [long, (long, "x", None, True)]}) == {"a": [short, [short, "x", None, True]]}
