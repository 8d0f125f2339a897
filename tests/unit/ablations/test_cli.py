"""The command line: exit statuses, one line of reason each, and nothing lost."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from papermill import PapermillExecutionError

from blockproof.ablations import engine, notebook
from blockproof.ablations.__main__ import main
from blockproof.ablations.cell import Cell
from blockproof.ablations.engine import Outcome
from blockproof.ablations.store import Store
from blockproof.tests.unit.ablations.fabricated import fabricate
from blockproof.tests.unit.ablations.samples import cells, tiny_record

SMOKE = len(cells("position", "smoke"))


def fabricating(group: Sequence[Cell]) -> Iterator[Outcome]:
    """An executor that trains nothing."""
    return (Outcome(cell, fabricate(cell, random.Random(0))) for cell in group)


def failing(group: Sequence[Cell]) -> Iterator[Outcome]:
    """An executor whose first cell raises."""
    yield Outcome(group[0], RuntimeError("out of luck"))
    yield from fabricating(group[1:])


def interrupted(group: Sequence[Cell]) -> Iterator[Outcome]:
    """An executor that meets Ctrl-C after two cells."""
    yield from fabricating(group[:2])
    raise KeyboardInterrupt


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The notebooks that would have been executed, with output and parameters."""
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(notebook, "execute", lambda *call: calls.append(call))
    for executor in (fabricating, failing, interrupted):
        monkeypatch.setitem(engine.EXECUTORS, executor.__name__, executor)
    return calls


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command is given."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(command: str, *more: str) -> list[str]:
    return [command, "--scale", "smoke", "--only", "position", "--records", "kept", *more]


def stored(folder: Path) -> int:
    return len(list((folder / "kept").glob("*.json")))


def test_run_stores_the_cells_and_executes_the_notebook(
    folder: Path, executed: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words("run", "--executor", "fabricating", "--out", "shown")) == 0
    assert stored(folder) == SMOKE
    parameters = {"scale": "smoke", "records": "kept", "out": "shown"}
    assert executed == [("position", Path("shown/position.ipynb"), parameters)]
    assert f"{SMOKE} cells: 0 stored" in capsys.readouterr().out
    assert main(words("status")) == 0
    assert f"{SMOKE} stored (same cell, source" in capsys.readouterr().out


def test_a_failed_cell_gives_1_and_stops_before_the_notebooks(
    folder: Path, executed: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words("run", "--executor", "failing")) == 1
    assert stored(folder) == SMOKE - 1
    assert executed == []
    error = capsys.readouterr().err
    assert cells("position", "smoke")[0].key in error
    assert "out of luck" in error


@pytest.mark.usefixtures("executed")
def test_ctrl_c_gives_130_and_keeps_what_is_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words("run", "--executor", "interrupted")) == 130
    assert stored(folder) == 2
    assert "kept" in capsys.readouterr().err


def test_a_failed_notebook_gives_1_and_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*call: Any) -> None:
        raise PapermillExecutionError(2, 3, "study.show()", "ValueError", "no such colour", [])

    monkeypatch.setitem(engine.EXECUTORS, "fabricating", fabricating)
    monkeypatch.setattr(notebook, "execute", fail)
    assert main(words("run", "--executor", "fabricating")) == 1
    assert stored(folder) == SMOKE
    assert capsys.readouterr().err.endswith("in cell 3: ValueError: no such colour\n")


@pytest.mark.parametrize(
    ("wrong", "nearest"), [(["--scale", "smoek"], "'smoke'"), (["--only", "positions"], "'position'")]
)
def test_a_misspelt_name_gives_1_and_names_the_nearest(
    wrong: list[str], nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", *wrong]) == 1
    assert f"did you mean {nearest}" in capsys.readouterr().err


@pytest.mark.usefixtures("executed")
def test_a_damaged_record_gives_1_and_names_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(words("run", "--executor", "fabricating"))
    damaged = next((folder / "kept").glob("*.json"))
    damaged.write_text("{", encoding="utf-8")
    assert main(words("status")) == 1
    assert damaged.name in capsys.readouterr().err


def test_clean_deletes_only_what_is_stale(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(folder / "kept")
    current = fabricate(cells("position", "smoke")[0], random.Random(0))
    store.add(current)
    store.add(tiny_record())
    assert main(["clean", "--records", "kept"]) == 0
    assert "1 stale files deleted" in capsys.readouterr().out
    assert store.find(current.cell) == current
