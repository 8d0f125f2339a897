"""Tables: every number under its heading, in the right form."""

import math
from typing import Any

import pytest

from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.frame import Frame
from blockproof.ablations.study import Results
from blockproof.report.numbers import unmark
from blockproof.report.tables import TABLES
from blockproof.tests.unit.ablations import fabricated

LOSS = {"loss": 1.25, "low": -0.5, "high": 3.0}
WRITTEN = {2: "1.25 [−0.50, 3.00]", 3: "1.250 [−0.500, 3.000]"}


def printed(name: str, **row: Any) -> dict[str, str]:
    """One row of a table, by heading."""
    table = TABLES[name](Frame([{**LOSS, **row}]))
    return dict(zip(table.heads, map(unmark, table.rows[0]), strict=True))


def test_residual() -> None:
    assert printed("residual", n_layers=8, residual_kind="none", lr=3e-4, edge=-1, collapsed=2, seeds=5) == {
        "layers": "8",
        "residual": "without",
        "best lr": "≤ 3e-4",
        "final loss [interval]": WRITTEN[2],
        "collapsed": "2 of 5",
    }


def test_norm_placement() -> None:
    row = {
        "norm_placement": "post",
        "tied": False,
        "warmup": 50,
        "breaks_at": math.inf,
        "lr": 1e-3,
        "edge": 1,
    }
    row |= {"early": 2.5, "fluctuation": 1.75, "sensitivity": 0.75, "sensitivity_low": 0.25}
    assert printed("norm_placement", **row, sensitivity_high=1.5) == {
        "placement": "post-norm",
        "head": "untied",
        "warm-up": "50",
        "breaks at lr": "–",
        "best lr": "≥ 1e-3",
        "final loss [interval]": WRITTEN[2],
        "early loss": "2.50",
        "gradient varies by a factor": "1.75",
        "sensitivity to lr [interval]": "0.75 [0.25, 1.50]",
    }


@pytest.mark.parametrize(
    ("source", "asked", "task"),
    [("text", 0, "text"), ("order", 1, "order: first"), ("order", 4, "order: any of 4")],
)
def test_position(source: str, asked: int, task: str) -> None:
    row = {"source": source, "asked": asked, "n_layers": 2, "position": "none", "blind": 1.5, "floor": None}
    assert printed("position", **row) == {
        "task": task,
        "layers": "2",
        "positions": "none",
        "final loss [interval]": WRITTEN[3],
        "blind loss": "1.500",
        "floor": "–",
    }


def test_gallery() -> None:
    gap = {"gap": -1.5, "gap_low": -1.75, "gap_high": -1.25}
    gap |= {"honest_gap": 2.0, "honest_gap_low": 1.5, "honest_gap_high": 2.5}
    row = {"fault": "no mask", "shows": "too good", "lost": 1, "seeds": 5, "loss_from": 135.0, **gap}
    assert printed("gallery", **row, gradient_from=math.nan) == {
        "fault": "no mask",
        "reported loss": "1.250",
        "above sound code's [interval]": "−1.500 [−1.750, −1.250]",
        "beside it": "too good",
        "honest loss above [interval]": "2.000 [1.500, 2.500]",
        "ends as without context": "1 of 5",
        "loss off from update": "135",
        "gradient off from update": "–",
    }


@pytest.mark.parametrize("name", ABLATIONS)
def test_tables_have_a_row_a_variant(name: str) -> None:
    study = Results(name, fabricated.records(name))
    table = TABLES[name](study.table)
    assert {len(row) for row in table.rows} == {len(table.heads)}
    assert len(table.rows) == len(study.table) > 1
