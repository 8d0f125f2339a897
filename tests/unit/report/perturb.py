"""Other records of the same shape: what was measured, designed or observed is changed, and no more.

A number of the report that none of these changes comes from somewhere else than the records.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.cell import HEALTHY, PARTS, Cell
from blockproof.ablations.record import Record
from blockproof.ablations.study import Results
from blockproof.tests.unit.ablations import fabricated
from blockproof.tests.unit.ablations.fabricated import layer_names

Change = Callable[[Record], Record]


def studies(change: Change = lambda record: record, more_seeds: bool = False) -> dict[str, Results]:
    """Every ablation with its fabricated records, each changed."""
    found = {name: list(fabricated.records(name)) for name in ABLATIONS}
    if more_seeds:
        found = {name: [*group, *map(_of_another_seed, group[4::5])] for name, group in found.items()}
    return {name: Results(name, [change(record) for record in group]) for name, group in found.items()}


def _of_another_seed(record: Record) -> Record:
    return fabricated.fabricate(record.cell.replace({"seed": 5}), random.Random(record.cell.key))


def measured(seed: int) -> Change:
    """Every float of a result by a factor of its own; what was zero no longer is."""
    chance = random.Random(seed)

    def other(data: Any) -> Any:
        if isinstance(data, dict):
            return {key: other(value) for key, value in data.items()}
        if isinstance(data, list):
            return [other(value) for value in data]
        return (data or 0.3) * chance.uniform(1.05, 1.5) if isinstance(data, float) else data

    return lambda record: replace(record, result=other(record.result))


def ended(record: Record) -> Record:
    """What finished collapsed, and the other way round."""
    now = {"finished": "collapsed", "collapsed": "finished"}.get(record.result["ended"], "diverged")
    return replace(record, result={**record.result, "ended": now})


def later(record: Record) -> Record:
    """Every point of a training stands one update later."""
    if "training" not in record.result:
        return record
    moved = [[step + 1, *values] for step, *values in record.result["training"]]
    return replace(record, result={**record.result, "training": moved})


def mirrored(record: Record) -> Record:
    """Losses with a fault are low where they were high, from the first update on."""
    if record.cell.fault == HEALTHY:
        return record
    ends = {name: 5 - record.result[name] for name in ("final_loss", "honest_loss")}
    points = [[step, 5 - loss, *values] for step, loss, *values in record.result["training"]]
    return replace(record, result={**record.result, **ends, "training": points})


def observed(record: Record) -> Record:
    """It took longer, each by a factor of its own."""
    factor = 1.2 + int(record.cell.key[:2], 16) / 255
    return replace(record, observed={**record.observed, "seconds": record.observed["seconds"] * factor})


def designed(record: Record) -> Record:
    """Twice of every count, more of every rate. What is none, or the first, stays so."""

    def other(name: str, value: Any) -> Any:
        if name == "sha256":
            return value[::-1]
        if isinstance(value, bool | str | None) or (name, value) in (("warmup", 0), ("asked", 1)):
            return value
        return value * 2 if isinstance(value, int) else value * 1.1 or 0.25

    return _with_parts(record, other)


def warmed_up(record: Record) -> Record:
    """One update more of warm-up, also where there was none."""
    return _with_parts(record, lambda name, value: value + 1 if name == "warmup" else value)


def _with_parts(record: Record, other: Callable[[str, Any], Any]) -> Record:
    def changed(name: str, value: Any) -> Any:
        return (
            {k: changed(k, v) for k, v in value.items()} if isinstance(value, Mapping) else other(name, value)
        )

    parts = {part: changed(part, getattr(record.cell, part)) for part in PARTS}
    cell = Cell(**{**record.cell.to_dict(), **parts})
    points = record.result.get("layers")
    if points is None:
        return replace(record, cell=cell)
    layers = [{k: _as_deep(v, cell.model["n_layers"]) for k, v in point.items()} for point in points]
    return replace(record, cell=cell, result={**record.result, "layers": layers})


def _as_deep(values: Any, layers: int) -> Any:
    """The same values over more layers: the first block's stay the first's, the last's the last's."""
    if not isinstance(values, Mapping):
        return values
    old, names = list(values.values()), layer_names(layers)
    stretch = (len(names) - 2) // (len(old) - 2)
    return dict(zip(names, [old[0], *(v for v in old[1:-1] for _ in range(stretch)), old[-1]], strict=True))


def of_more_mutants(found: dict[str, Any]) -> dict[str, Any]:
    """One more of everything that is counted."""
    summary: dict[str, Any] = {
        key: value + 1 if isinstance(value, int) else value for key, value in found["summary"].items()
    }
    summary["killed_by_naive"] = {
        name: summary["killed_by_naive"].get(name, 0) + 1 for name in found["naive"]
    }
    told = found["syntax"]
    syntax = {**told, "drawn": told["drawn"] + 1, "survivors": [*told["survivors"], "one more"]}
    return {**found, "summary": summary, "syntax": syntax}


def of_more_models(found: dict[str, Any]) -> dict[str, Any]:
    """One more architecture, on which a check is red that was red on another beside a second one."""
    rows = {name: dict(row) for name, row in found["architectures"].items()}
    name = next(name for name, row in rows.items() if len(row.get("red", {})) > 1)
    (check, told), *rest = rows[name]["red"].items()
    rows[name]["red"] = dict(rest)
    return {
        **found,
        "architectures": {**rows, name: rows[name], "another": {**rows[name], "red": {check: told}}},
    }
