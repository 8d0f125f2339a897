"""Engines agree, run only what is lacking, and lose nothing when a cell fails."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import dask
import pytest

from blockproof.ablations import engine
from blockproof.ablations.cell import Cell
from blockproof.ablations.engine import CellsFailedError, Outcome
from blockproof.ablations.fingerprint import fingerprint
from blockproof.ablations.record import Record
from blockproof.ablations.store import Store
from blockproof.ablations.worker import run_cell
from blockproof.model.schema import ConfigError
from blockproof.tests.unit.ablations.samples import IMPOSSIBLE, TINY, tiny_cells, tiny_record


class Spy:
    """An executor that notes what it is given and makes records up."""

    def __init__(self) -> None:
        self.received: list[Cell] = []

    def __call__(self, cells: Sequence[Cell]) -> Iterator[Outcome]:
        self.received += cells
        return (Outcome(cell, tiny_record(cell, fingerprint(cell))) for cell in cells)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def spy() -> Spy:
    return Spy()


def test_runs_only_what_is_lacking(store: Store, spy: Spy) -> None:
    engine.run(tiny_cells(2), store, spy)
    spy.received.clear()
    engine.run(tiny_cells(4), store, spy)
    assert spy.received == tiny_cells(4)[2:]
    spy.received.clear()
    engine.run(tiny_cells(4), store, spy)
    assert spy.received == []


def test_runs_equal_cells_once_and_gives_each_its_record_in_order(store: Store, spy: Spy) -> None:
    a, b = tiny_cells(2)
    records = engine.run([b, a, b, b], store, spy)
    assert spy.received == [b, a]
    assert [record.cell for record in records] == [b, a, b, b]


def test_every_record_is_stored_as_soon_as_it_is_there(store: Store) -> None:
    def watched(cells: Sequence[Cell]) -> Iterator[Outcome]:
        for cell in cells:
            yield Outcome(cell, tiny_record(cell, fingerprint(cell)))
            assert store.find(cell) is not None

    engine.run(tiny_cells(3), store, watched)


def test_a_failed_cell_is_named_and_the_others_are_stored(store: Store) -> None:
    good = tiny_cells(2)
    with pytest.raises(CellsFailedError, match=r"1 of 3 cells failed.*\n.*ConfigError: d_model 8") as failure:
        engine.run([good[0], IMPOSSIBLE, good[1]], store)
    assert IMPOSSIBLE.key in str(failure.value)
    assert all(store.find(cell) for cell in good)
    assert store.find(IMPOSSIBLE) is None


def test_dask_gives_bit_by_bit_what_inline_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the cluster that ``SCHEDULER`` names; there, too, a failure costs only its own cell."""
    cells = [*tiny_cells(2), TINY.replace({"model.n_layers": 2})]
    with engine.local_cluster(2) as client:
        monkeypatch.setenv("SCHEDULER", client.scheduler.address)
        monkeypatch.setattr(engine, "local_cluster", lambda cells: pytest.fail("a cluster of its own"))
        with pytest.raises(CellsFailedError, match="1 of 4 cells failed"):
            engine.run([IMPOSSIBLE, *cells], Store(tmp_path / "dask"), engine.dask)
    distributed = engine.run(cells, Store(tmp_path / "dask"), lambda cells: pytest.fail("not stored"))
    here = engine.run(cells, Store(tmp_path / "inline"), engine.inline)
    assert [json.dumps(r.result) for r in distributed] == [json.dumps(r.result) for r in here]


def test_a_scheduler_that_is_not_there_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDULER", "tcp://127.0.0.1:1")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "100ms"}),
        pytest.raises(ConfigError, match=r"SCHEDULER=tcp://127\.0\.0\.1:1"),
    ):
        engine.run(tiny_cells(1), store, engine.dask)


def test_a_worker_refuses_a_cell_that_its_own_source_would_run_otherwise() -> None:
    with pytest.raises(RuntimeError, match="same source code, torch and kind of processor"):
        run_cell(TINY.to_dict(), "0" * 16)


def test_what_a_run_took_is_observed_and_kept_apart_from_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([10.0, 12.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    record = Record.from_dict(run_cell(TINY.to_dict(), fingerprint(TINY)))
    assert record.observed["seconds"] == 2
    assert record.observed["tokens_per_second"] == record.result["tokens"] / 2
    assert record.observed["cores"] == os.cpu_count()
    assert not record.result.keys() & record.observed.keys()


def test_the_bar_counts_work_and_ends_full(
    store: Store, spy: Spy, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.run(tiny_cells(3), store, spy)
    assert "3/3 cells 100%" in capsys.readouterr().err


def test_nothing_to_do_says_nothing(store: Store, spy: Spy, capsys: pytest.CaptureFixture[str]) -> None:
    engine.run([], store, spy)
    assert capsys.readouterr().err == ""
