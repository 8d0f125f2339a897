"""An ablation as data: what is asked, what is varied, what is held equal."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from blockproof.ablations import faults
from blockproof.ablations.cell import Cell
from blockproof.model import source as sources
from blockproof.model.config import ModelConfig
from blockproof.model.recipe import complete_data
from blockproof.model.schema import ConfigError, hint
from blockproof.model.train_config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Cells that differ along named axes and agree in all else.

    Attributes:
        run: a key of ``runs.RUNS``.
        model: fields of the model that every cell shares.
        train: fields of the training that every cell shares.
        data: the source that every cell shares.
        axes: dotted path to the values it takes; all combinations are run.
    """

    run: str
    model: Mapping[str, Any]
    train: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, Sequence[Any]]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One ablation.

    Attributes:
        name: also that of its notebook and figure.
        title: its heading.
        question: what it decides.
        prediction: what the textbooks say.
        caption: how to read its figure.
        limits: what it does not show.
        grids: by name.
    """

    name: str
    title: str
    question: str
    prediction: str
    caption: str
    limits: str
    grids: Mapping[str, Grid]


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much is run of every grid.

    Attributes:
        seeds: runs of each variant.
        steps: replaces the steps of every training, or None to leave them.
        thin: keep only the first and the last value of axes that hold more than two.
    """

    seeds: int
    steps: int | None = None
    thin: bool = False


SCALES: dict[str, Scale] = {
    "smoke": Scale(seeds=2, steps=12, thin=True),
    "standard": Scale(seeds=5),
}


def expand(spec: Spec, scale: str, overrides: Mapping[str, Any] | None = None) -> list[Cell]:
    """All cells of a spec at a scale, with the values at some dotted paths replaced.

    Raises:
        ConfigError: for an unknown scale, or a path that no cell has.
    """
    if scale not in SCALES:
        raise ConfigError(f"there is no scale {scale!r}{hint(scale, SCALES)}")
    cells = [cell for grid in spec.grids.values() for cell in _expand(grid, SCALES[scale])]
    known = {path for cell in cells for path in cell.paths}
    for path in (changes := dict(overrides or {})):
        if path not in known:
            raise ConfigError(f"no cell of {spec.name} has a value at {path!r}{hint(path, sorted(known))}")
    changed = [
        cell.replace({path: value for path, value in changes.items() if path in cell.paths}) for cell in cells
    ]
    return list({cell.key: cell for cell in map(complete, changed)}.values())  # some may now be equal


def _expand(grid: Grid, scale: Scale) -> list[Cell]:
    axes = {path: _thin(values) if scale.thin else values for path, values in grid.axes.items()}
    base = Cell(run=grid.run, model=grid.model, train=grid.train, data=grid.data, seed=0)
    cells = [
        complete(base.replace(dict(zip(axes, values, strict=True), seed=seed)))
        for values in itertools.product(*axes.values())
        for seed in range(scale.seeds)
    ]
    return [_shorten(cell, scale) for cell in cells]


def complete(cell: Cell) -> Cell:
    """The same cell with every default spelt out, checked; its vocabulary and text are the source's."""
    faults.find(cell.fault)
    data, train, model = dict(cell.data), dict(cell.train), dict(cell.model)
    if data:
        data = complete_data(data)
        if "vocab_size" not in model:
            model["vocab_size"] = sources.make_source(data, model["context"]).vocab_size
    if train:
        train = TrainConfig.from_dict(train).to_dict()
    return replace(cell, model=ModelConfig.from_dict(model).to_dict(), train=train, data=data)


def _thin(values: Sequence[Any]) -> Sequence[Any]:
    return values if len(values) < 3 else (values[0], values[-1])


def _shorten(cell: Cell, scale: Scale) -> Cell:
    """The same cell with fewer steps, its warm-up in proportion, and less validation."""
    if not cell.train or scale.steps is None:
        return cell
    train = {
        **cell.train,
        "steps": scale.steps,
        "warmup": cell.train["warmup"] * scale.steps // cell.train["steps"],
        "log_every": 1,
        "eval_every": scale.steps // 2,
    }
    return replace(cell, train=train, data={**cell.data, "validation_windows": 64})
