"""A cell is plain data, and its key names exactly that data."""

import json
from types import NoneType
from typing import Any

import pytest

from blockproof.ablations.cell import Cell
from blockproof.ablations.runs import run
from blockproof.model.schema import ConfigError
from blockproof.tests.unit.ablations.samples import TINY


def changed(value: Any) -> Any:
    """Another value of the same type."""
    return {
        bool: lambda: not value,
        str: lambda: value + "x",
        int: lambda: value + 1,
        float: lambda: value + 0.5,
        NoneType: lambda: 3,
    }[type(value)]()


def value_at(cell: Cell, path: str) -> Any:
    part, *names = path.split(".")
    value = getattr(cell, part)
    for name in names:
        value = value[name]
    return value


def test_survives_json() -> None:
    again = Cell(**json.loads(json.dumps(TINY.to_dict(), allow_nan=False)))
    assert again == TINY
    assert again.key == TINY.key


def test_key_does_not_depend_on_the_order_of_fields() -> None:
    backwards = Cell(**{**TINY.to_dict(), "model": dict(reversed(list(TINY.model.items())))})
    assert backwards.key == TINY.key


def test_key_is_the_same_on_every_machine_and_day() -> None:
    """Published records are found by their keys: another key would orphan them all."""
    assert Cell(run="train", model={"n_layers": 2}, train={"lr": 1e-3}, seed=7).key == "ea92b34103c39eda"


@pytest.mark.parametrize("path", [*TINY.paths, "run"])
def test_any_changed_value_changes_the_key(path: str) -> None:
    other = TINY.replace({path: changed(value_at(TINY, path))})
    assert other.key != TINY.key
    assert other.replace({path: value_at(TINY, path)}) == TINY


def test_replace_leaves_the_original_alone() -> None:
    before = TINY.to_dict()
    TINY.replace({"model.n_layers": 9, "seed": 9})
    assert TINY.to_dict() == before


def test_a_value_that_json_cannot_hold_has_no_key() -> None:
    with pytest.raises(ValueError, match="JSON"):
        TINY.replace({"train.lr": float("nan")}).key  # noqa: B018


def test_an_unknown_run_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'train'"):
        run(TINY.replace({"run": "trian"}))
