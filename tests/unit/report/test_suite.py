"""What the suite measured, as the report tells it."""

import json
from pathlib import Path

import numpy as np
import pytest

from blockproof.ablations.record import RecordError
from blockproof.ablations.views import style
from blockproof.report import own_tables, suite
from blockproof.report.numbers import formatted, unmark
from blockproof.tests.unit.report.fabricated_evidence import evidence


def test_the_largest_of_all_runs_is_told() -> None:
    rows = {(row["test"], row["measure"]): row for row in suite.checks(evidence()).to_dict("records")}
    leak, limits = rows["test_leaks", "leak"], rows["test_limits", ""]
    assert (leak["value"], leak["passed"], leak["ran"]) == (2.5e-7, 2, 2)
    assert (limits["passed"], limits["ran"]) == (0, 1)
    assert rows["test_decodes", ""]["ran"] == 0
    assert ("test_learns_a_tiny_batch_to_its_floor", "curve") not in rows


def test_a_row_each() -> None:
    rows = [[unmark(cell) for cell in row] for row in own_tables.checks(suite.checks(evidence())).rows]
    assert rows[0] == ["leaks", "must", "leak 2.5e-07; places 16", "at most 1e-05", "2 of 2"]
    assert ["limits", "ours", "", "at most 1e-05", "0 of 1"] in rows
    assert ["decodes", "must", "", "at most 1e-05", "not run: the model has no cache"] in rows
    assert len(rows) == 4


def test_claims_are_filled_with_what_was_measured() -> None:
    first, second = suite.claims(evidence())
    assert (first.claim, unmark(first.says), first.verdict) == (
        "B2",
        "scores are scaled by 1/sqrt(2)",
        "holds",
    )
    assert unmark(first.evidence) == "The ratio is 1.732 at 3 heads, off by −2.5e-16, of all scores."
    assert unmark(second.evidence) == "It is 0.12."


def test_every_value_of_a_sentence_is_marked() -> None:
    words = formatted("{a} {b:.1f} {c}", {"a": 1200, "b": -0.25, "c": "three"})
    assert unmark(words) == "1,200 −0.2 three"
    assert words.count("\ue000") == 2
    with pytest.raises(KeyError):
        formatted("{missing}", {})


def test_curves_are_those_of_the_overfit_check() -> None:
    rows = suite.curves(evidence())
    assert rows[rows["model"] == "gpt"]["loss"].tolist() == [2.5, 1.25, 0.5, 0.25]
    assert set(rows["model"]) == {"gpt", "llama"}
    assert set(rows["floor"]) == {0.25}


@pytest.mark.parametrize("theme", style.THEMES)
def test_figure_draws_curves_floor_and_weights(theme: str) -> None:
    with style.themed(theme):
        left, right, *_ = suite.figure(evidence()).axes
        ends = [np.asarray(line.get_ydata()).tolist() for line in left.lines]
        drawn = [values for values in ends if len(values) == 4]
        weights = right.collections[0].get_array()
        floors = [text.get_text() for text in left.texts]
    assert drawn == [[2.5, 1.25, 0.5, 0.25]] * 2
    assert weights is not None
    assert weights.reshape(3, 3).tolist() == evidence()["pictures"]["attention"]["weights"]
    assert floors == ["floor: nothing that sees only the past gets below"]


def test_each_fault_of_the_gallery_is_told_with_what_caught_it() -> None:
    rows = [[unmark(cell) for cell in row] for row in own_tables.caught(suite.caught(evidence())).rows]
    assert rows == [
        [
            *("no mask", "every place attends to all", "`test_causality.py::test_leak`", "red"),
            "a logit depends on a later token",
        ],
        ["no shift", "copies", "`test_labels.py::test_shift`", "green", ""],
    ]


def test_data_files_hold_the_frames() -> None:
    files = suite.data_files(evidence())
    assert list(files) == ["suite-checks.csv", "suite-curves.csv", "suite-attention.csv", "suite-gallery.csv"]
    assert files["suite-curves.csv"].splitlines()[1] == "gpt,0,2.5,0.25"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no evidence of the test suite at .*make ablations"),
        ("{", "is damaged"),
        ('{"checks": {}}', "lacks claims, pictures"),
    ],
)
def test_refuses_what_is_no_evidence(content: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "evidence.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(RecordError, match=message):
        suite.load(path)


def test_reads_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "evidence.json").write_text(json.dumps(evidence()), encoding="utf-8")
    assert suite.load(tmp_path / "evidence.json") == evidence()
