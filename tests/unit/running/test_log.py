"""The log: strict JSON lines that survive a kill, and a run that goes on adds to what was reached."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from blockproof.model.log import Log, line, read_log
from blockproof.model.schema import ConfigError


def steps(folder: Path) -> list[int]:
    return [point["step"] for point in read_log(folder / "log.jsonl")]


def written(folder: Path, *points: dict[str, Any], step: int = 0) -> None:
    with Log(folder, step=step, steps=9) as log:
        for point in points:
            log.write(point)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_null(value: float) -> None:
    """JSON has no word for it, and strict readers refuse Python's own."""
    point = {"step": 1, "loss": value, "rms": {"block 0": value, "embedding": 2.5}, "place": "norm"}

    def refused(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    told = json.loads(line(point), parse_constant=refused)
    assert told == {"step": 1, "loss": None, "rms": {"block 0": None, "embedding": 2.5}, "place": "norm"}


def test_numbers_lose_nothing() -> None:
    assert json.loads(line({"step": 0, "loss": 0.1 + 0.2})) == {"step": 0, "loss": 0.1 + 0.2}


def test_a_line_is_on_disk_before_the_run_ends(tmp_path: Path) -> None:
    with Log(tmp_path, step=0, steps=9) as log:
        log.write({"step": 0})
        assert steps(tmp_path) == [0]


@pytest.mark.parametrize("cut", range(1, len('{"step": 4, "loss": 1.5}\n')))
def test_a_last_line_that_was_cut_off_is_left_out(cut: int, tmp_path: Path) -> None:
    written(tmp_path, {"step": 0}, {"step": 2}, {"step": 4, "loss": 1.5})
    file = tmp_path / "log.jsonl"
    file.write_bytes(file.read_bytes()[:-cut])
    assert steps(tmp_path) == ([0, 2, 4] if cut == 1 else [0, 2])  # without its line break it is whole
    written(tmp_path, {"step": 4, "loss": 1.5}, step=4)
    assert steps(tmp_path) == [0, 2, 4]


def test_a_resume_keeps_what_was_reached_and_no_more(tmp_path: Path) -> None:
    written(tmp_path, *({"step": step} for step in range(6)))
    written(tmp_path, {"step": 4, "again": True}, step=4)
    assert steps(tmp_path) == [0, 1, 2, 3, 4]
    assert read_log(tmp_path / "log.jsonl")[-1] == {"step": 4, "again": True}
    assert [file.name for file in tmp_path.iterdir()] == ["log.jsonl"]


def test_a_new_run_begins_a_new_log(tmp_path: Path) -> None:
    written(tmp_path, {"step": 0}, {"step": 5})
    written(tmp_path, {"step": 0, "new": True})
    assert read_log(tmp_path / "log.jsonl") == [{"step": 0, "new": True}]


def test_no_log_has_no_points(tmp_path: Path) -> None:
    assert read_log(tmp_path / "log.jsonl") == []


def test_tensorboard_is_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ConfigError, match="--tensorboard needs the package: pip install tensorboard"):
        Log(tmp_path, step=0, steps=1, tensorboard=True)
