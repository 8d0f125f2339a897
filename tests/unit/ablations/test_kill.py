"""A run that is killed or interrupted leaves whole records and no workers, and is taken up again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import NamedTuple

import psutil
import pytest

from blockproof.ablations import notebook
from blockproof.ablations.__main__ import main
from blockproof.ablations.guard import INTERRUPTED
from blockproof.ablations.record import Record
from blockproof.tests.unit.ablations.samples import cells

RUN = ["run", "--scale", "smoke", "--only", "position", "--records", "kept"]
CELLS = len(cells("position", "smoke"))
# Ctrl-C must count even where these tests run in the background and inherit that it is ignored.
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from blockproof.ablations.__main__ import main
sys.exit(main())
"""
PATIENCE = 60  # seconds; a slow machine is no failure


def wait_for_records(folder: Path, number: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(list(folder.glob("*.json"))) < number:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline, "no records came"
        time.sleep(0.01)


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still do something; a zombie only waits for its exit to be read."""
    living = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
    return living


class Stopped(NamedTuple):
    """A run that was stopped by a signal, and what it left."""

    status: int
    errors: str
    workers: list[psutil.Process]


@contextmanager
def stopped_by(stop: Callable[[int], None], folder: Path) -> Iterator[Stopped]:
    """Start a run on a cluster of its own, in a process group of its own; stop it after three records."""
    command = [sys.executable, "-c", START, *RUN, "--executor", "dask"]
    with subprocess.Popen(
        command, cwd=folder, stdout=DEVNULL, stderr=PIPE, text=True, start_new_session=True
    ) as process:
        workers: list[psutil.Process] = []
        try:
            wait_for_records(folder / "kept", 3, process)
            workers = psutil.Process(process.pid).children(recursive=True)
            stop(process.pid)
            errors = process.communicate(timeout=PATIENCE)[1]
            yield Stopped(process.returncode, errors, workers)
        finally:
            process.kill()
            for worker in alive(workers):
                worker.kill()


def check_what_is_left(run: Stopped, folder: Path) -> int:
    """No workers, and whole records of a part of the grid; their number."""
    assert run.workers, "it had no workers"
    deadline = time.monotonic() + 15
    while alive(run.workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(run.workers), "workers outlived the run"
    survivors = [json.loads(path.read_text("utf-8")) for path in (folder / "kept").glob("*.json")]
    assert all(Record.from_dict(data).result["ended"] for data in survivors)
    assert 3 <= len(survivors) < CELLS
    return len(survivors)


def test_killed_in_mid_grid_and_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with stopped_by(lambda pid: os.kill(pid, signal.SIGKILL), tmp_path) as run:
        kept = check_what_is_left(run, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(notebook, "execute", lambda *call: None)
    assert main([*RUN, "--executor", "inline"]) == 0
    out = capsys.readouterr().out
    assert f"{CELLS} cells: {kept} stored" in out
    assert f"{CELLS - kept} to run" in out


def test_ctrl_c_ends_in_one_line(tmp_path: Path) -> None:
    """A terminal sends it to the workers, too."""
    with stopped_by(lambda pid: os.killpg(pid, signal.SIGINT), tmp_path) as run:
        check_what_is_left(run, tmp_path)
        assert run.status == INTERRUPTED
        assert "finished cells are kept in kept" in run.errors
        assert "Traceback" not in run.errors
