"""An ablation's numbers as a Markdown table: headings, and one formatted row a variant."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from blockproof.ablations.frame import Frame
from blockproof.ablations.views import norm_placement as norm_placement_view
from blockproof.ablations.views import residual as residual_view
from blockproof.report.numbers import bounds, fixed, power, quote, rate, whole


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
        for row in _rows(frame)
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
        for row in _rows(frame)
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
        for row in _rows(frame)
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
        for row in _rows(frame)
    ]
    return Table(heads, rows)


def models(frame: Frame) -> Table:
    """Published models: as published, as counted, and the estimate."""
    heads = [
        "model",
        "N",
        "D",
        "published",
        "counted",
        "of these in blocks",
        "12 N D²",
        "off from blocks, %",
        "off from all, %",
    ]
    rows = [
        [
            quote(row.name),
            whole(row.n_layers),
            whole(row.d_model),
            quote(f"{row.parameters:,}" + (", rounded" if row.rounded else "")),
            whole(row.total),
            whole(row.blocks),
            whole(row.formula),
            fixed(100 * row.formula_error, 3),
            fixed(100 * row.total_error),
        ]
        for row in _rows(frame)
    ]
    return Table(heads, rows)


def changes(frame: Frame) -> Table:
    """What one change makes of a model's parameters."""
    rows = [[row.change, whole(row.total), whole(row.more)] for row in _rows(frame)]
    return Table(["GPT-2 small", "parameters", "more than as it is"], rows)


def checks(frame: Frame) -> Table:
    """One row a check: the largest of all runs of each number that it measured."""
    rows = []
    for test, group in frame.groupby("test", sort=False):
        first = next(_rows(group))
        told = [f"{quote(row.measure)} {power(row.value)}" for row in _rows(group) if row.value == row.value]
        ran = (
            f"{whole(first.passed)} of {whole(first.ran)}" if first.ran else f"not run: {quote(first.reason)}"
        )
        words = str(test).removeprefix("test_").replace("_", " ")
        rows.append([words, first.kind, "; ".join(told), quote(first.bound), ran])
    return Table(["check", "kind", "measured, the largest", "bound", "passed"], rows)


TABLES: dict[str, Callable[[Frame], Table]] = {
    "residual": residual,
    "norm_placement": norm_placement,
    "position": position,
    "swap": swap,
}


def _rows(frame: Frame) -> Iterator[Any]:
    return iter(frame.itertuples())


def _best(row: Any) -> str:
    """The best rate; at an end of the grid the true best may lie beyond."""
    return {-1: "≤ ", 0: "", 1: "≥ "}[row.edge] + rate(row.lr)


def _loss(row: Any, digits: int = 2) -> str:
    return bounds(row.loss, row.low, row.high, digits)


def _task(row: Any) -> str:
    if row.source == "text":
        return "text"
    return "order: first" if row.asked == 1 else f"order: any of {whole(row.asked)}"
