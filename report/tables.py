"""An ablation's numbers as a Markdown table: headings, and one formatted row a variant."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from blockproof.ablations.cell import HEALTHY
from blockproof.ablations.frame import Frame
from blockproof.ablations.views import norm_placement as norm_placement_view
from blockproof.ablations.views import residual as residual_view
from blockproof.report.numbers import bounds, fixed, quote, rate, whole


class Table(NamedTuple):
    """Headings and rows of text."""

    heads: list[str]
    rows: list[list[str]]


def residual(frame: Frame) -> Table:
    """Depth and residual."""
    heads = ["layers", "residual", "best lr", "final loss [interval]", "collapsed"]
    rows = [
        [
            whole(row.n_layers),
            residual_view.NAMES[row.residual_kind],
            _best(row),
            _loss(row),
            f"{whole(row.collapsed)} of {whole(row.seeds)}",
        ]
        for row in rows_of(frame)
    ]
    return Table(heads, rows)


def norm_placement(frame: Frame) -> Table:
    """Placement and warm-up."""
    heads = [
        "placement", "head", "warm-up", "breaks at lr", "best lr", "final loss [interval]", "early loss",
        "gradient varies by a factor", "sensitivity to lr [interval]",
    ]  # fmt: skip
    rows = [
        [
            norm_placement_view.NAMES[row.norm_placement],
            "tied" if row.tied else "untied",
            whole(row.warmup),
            rate(row.breaks_at),
            _best(row),
            _loss(row),
            fixed(row.early),
            fixed(row.fluctuation),
            bounds(row.sensitivity, row.sensitivity_low, row.sensitivity_high),
        ]
        for row in rows_of(frame)
    ]
    return Table(heads, rows)


def position(frame: Frame) -> Table:
    """Task, depth and positions."""
    heads = ["task", "layers", "positions", "final loss [interval]", "blind loss", "floor"]
    rows = [
        [
            _task(row),
            whole(row.n_layers),
            row.position,
            _loss(row, 3),
            fixed(row.blind, 3),
            fixed(row.floor, 1),
        ]
        for row in rows_of(frame)
    ]
    return Table(heads, rows)


def swap(frame: Frame) -> Table:
    """Swapped part and choice."""
    heads = ["part", "choice", "parameters", "best lr", "final loss [interval]", "above as it is [interval]"]
    rows = [
        [
            row.part,
            whole(int(row.choice)) if row.choice.isdigit() else quote(row.choice),
            whole(row.parameters),
            _best(row),
            _loss(row, 3),
            bounds(row.gap_mean, row.gap_low, row.gap_high, 3),
        ]
        for row in rows_of(frame)
    ]
    return Table(heads, rows)


def gallery(frame: Frame) -> Table:
    """Fault by fault: the loss that the code reports, the honest one, and which sign came first."""
    heads = [
        "fault", "reported loss", "above sound code's [interval]", "beside it", "honest loss above [interval]",
        "ends as without context", "loss off from update", "gradient off from update",
    ]  # fmt: skip
    rows = [
        [
            "none: sound code" if row.fault == HEALTHY else row.fault,
            fixed(row.loss, 3),
            bounds(row.gap, row.gap_low, row.gap_high, 3),
            row.shows,
            bounds(row.honest_gap, row.honest_gap_low, row.honest_gap_high, 3),
            f"{whole(row.lost)} of {whole(row.seeds)}",
            _update(row.loss_from),
            _update(row.gradient_from),
        ]
        for row in rows_of(frame)
    ]
    return Table(heads, rows)


def training(frame: Frame) -> Table:
    """Size, and what a token of training takes: counted, and by the clock."""
    heads = [
        "layers", "D", "operations a token", "µs a token", "operations, relative", "time, relative [interval]",
    ]  # fmt: skip
    rows = [
        [
            whole(row.n_layers),
            whole(row.d_model),
            whole(row.operations),
            fixed(row.microseconds, 1),
            *(
                [quote("1"), quote("1")]
                if row.Index == 0  # the smallest, to which the others are compared
                else [fixed(row.operations_ratio, 2), bounds(row.seconds_ratio, row.low, row.high, 2)]
            ),
        ]
        for row in rows_of(frame)
    ]
    return Table(heads, rows)


TABLES: dict[str, Callable[[Frame], Table]] = {
    "residual": residual,
    "norm_placement": norm_placement,
    "position": position,
    "swap": swap,
    "gallery": gallery,
    "training": training,
}


def rows_of(frame: Frame) -> Iterator[Any]:
    """Row by row, with a column's value as an attribute."""
    return iter(frame.itertuples())


def _update(step: float) -> str:
    return whole(step) if math.isfinite(step) else "–"


def _best(row: Any) -> str:
    """The best rate; at an end of the grid the true best may lie beyond."""
    return {-1: "≤ ", 0: "", 1: "≥ "}[row.edge] + rate(row.lr)


def _loss(row: Any, digits: int = 2) -> str:
    return bounds(row.loss, row.low, row.high, digits)


def _task(row: Any) -> str:
    if row.source == "text":
        return "text"
    return "order: first" if row.asked == 1 else f"order: any of {whole(row.asked)}"
