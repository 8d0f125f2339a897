"""From records to tidy frames: one row an observation, one column a variable. Losses are in nats."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from blockproof.ablations.cell import PARTS
from blockproof.ablations.record import Record
from blockproof.model.history import TrainingPoint, ValidationPoint
from blockproof.model.nested import leaves

Frame = pd.DataFrame
RUN_VALUES = ("ended", "final_loss", "loss_at_init", "blind_loss", "floor", "diverged_at")


def runs(records: Iterable[Record]) -> Frame:
    """One row a training: the cell's values, how it ended, and its ``score``.

    The score is the final validation loss, or the loss at init for a run that diverged: it has learnt
    nothing that it could give back (as in Wortsman et al. 2023).
    """
    rows = [{**variables(record), **{key: record.result[key] for key in RUN_VALUES}} for record in records]
    frame = pd.DataFrame(rows)
    frame["score"] = frame["final_loss"].astype(float).fillna(frame["loss_at_init"].astype(float))
    return frame


def training_curves(records: Iterable[Record]) -> Frame:
    """One row a logged update of a training: batch loss, that update's rate, gradient norm.

    The rate has a name of its own: ``lr`` is the cell's, which warm-up and schedule stay below.
    """
    columns = ["rate" if name == "lr" else name for name in TrainingPoint._fields]
    return _points(records, "training", columns)


def validation_curves(records: Iterable[Record]) -> Frame:
    """One row a validation of a training."""
    return _points(records, "validation", ValidationPoint._fields)


def layer_curves(records: Iterable[Record]) -> Frame:
    """One row a layer at a looked-at step: its place, gradient norm, activation RMS and likeness."""
    rows = []
    for record in records:
        for point in record.result["layers"]:
            for place, layer in enumerate(point["grad_norm"]):
                values = {key: point[key][layer] for key in ("grad_norm", "activation_rms", "likeness")}
                rows.append(
                    {**variables(record), "step": point["step"], "layer": layer, "place": place, **values}
                )
    return pd.DataFrame(rows)


def permutations(records: Iterable[Record]) -> Frame:
    """One row a pair of permuted sequences: how far the last logits moved."""
    rows = [
        {**variables(record), "pair": pair, "moved": moved}
        for record in records
        for pair, moved in record.result["moved"].items()
    ]
    return pd.DataFrame(rows)


def variables(record: Record) -> dict[str, Any]:
    """Every value that a cell can vary, by its name within its part, such as ``norm_placement``.

    No two parts share a name.
    """
    cell = record.cell
    values = {name: value for part in PARTS for name, value in leaves(getattr(cell, part), "_").items()}
    return {"run": cell.run, **values, "seed": cell.seed, "fault": cell.fault}


def varying(rows: Frame) -> Frame:
    """Without the columns that hold one value only."""
    return rows.loc[:, rows.nunique(dropna=False) > 1]


def select(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """The records whose values are the wanted ones, such as ``source="text"``."""
    return [
        record
        for record in records
        if all(variables(record).get(name) == value for name, value in wanted.items())
    ]


def _points(records: Iterable[Record], group: str, columns: Sequence[str]) -> Frame:
    rows = [
        {**variables(record), **dict(zip(columns, point, strict=True))}
        for record in records
        for point in record.result[group]
    ]
    return pd.DataFrame(rows)
