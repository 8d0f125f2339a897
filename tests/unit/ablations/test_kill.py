"""A run that is killed in mid-grid leaves whole records and no workers, and is taken up again."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from blockproof.ablations import notebook
from blockproof.ablations.__main__ import main
from blockproof.ablations.record import Record
from blockproof.tests.unit.ablations.samples import cells

RUN = ["run", "--scale", "smoke", "--only", "position", "--records", "kept"]
CELLS = len(cells("position", "smoke"))
PATIENCE = 60  # seconds; a slow machine is no failure


def wait_for_records(folder: Path, number: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(list(folder.glob("*.json"))) < number:
        assert process.poll() is None, "ended before it could be killed"
        assert time.monotonic() < deadline, "no records came"
        time.sleep(0.01)


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still do something; a zombie only waits for its exit to be read."""
    living = []
    for process in processes:
        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
        except psutil.NoSuchProcess:
            pass
    return living


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[list[psutil.Process]]:
    """A run on a cluster of its own, killed after three records; its former worker processes."""
    command = [sys.executable, "-m", "blockproof.ablations", *RUN, "--executor", "dask"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        workers: list[psutil.Process] = []
        try:
            wait_for_records(tmp_path / "kept", 3, process)
            workers = psutil.Process(process.pid).children(recursive=True)
        finally:
            process.kill()
        yield workers
    for worker in alive(workers):
        worker.kill()


def test_killed_in_mid_grid(
    killed: list[psutil.Process],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert killed, "it had no workers"
    deadline = time.monotonic() + 15
    while alive(killed) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(killed), "workers outlived the run"

    survivors = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "kept").glob("*.json")]
    assert 3 <= len(survivors) < CELLS
    assert all(Record.from_dict(data).result["ended"] for data in survivors)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(notebook, "execute", lambda *call: None)
    assert main([*RUN, "--executor", "inline"]) == 0
    out = capsys.readouterr().out
    assert f"{CELLS} cells: {len(survivors)} stored" in out
    assert f"{CELLS - len(survivors)} to run" in out
