"""The command line: train, stop, resume, generate; and Ctrl-C in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from blockproof.model import checkpoint
from blockproof.model.generate import generate
from blockproof.model.history import TrainingPoint
from blockproof.model.log import read_log
from blockproof.model.session import CHECKPOINT, Session
from blockproof.model.trainer import Trainer
from blockproof.tests.unit.running.runs import TEXT, Command, text_file


def losses(folder: Path) -> dict[int, float]:
    return {point["step"]: point["loss"] for point in read_log(folder / "log.jsonl") if "loss" in point}


def test_stopped_and_resumed_is_the_same_run(command: Command, recipe: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert command("train", recipe, "--out", whole).status == 0
    assert command("train", recipe, "--out", parts, "--stop-at", 4).status == 0
    assert checkpoint.load(parts / CHECKPOINT).facts["step"] == 4
    assert max(losses(parts)) == 2
    assert command("resume", parts).status == 0
    assert losses(parts) == losses(whole)
    assert checkpoint.load(parts / CHECKPOINT).facts == checkpoint.load(whole / CHECKPOINT).facts


def test_settings_of_the_command_line_are_kept(command: Command, recipe: Path, tmp_path: Path) -> None:
    words = ("train.steps=3", "train.lr=5e-3", "train.schedule=constant", "seed=8")
    assert command("train", recipe, *words, "--out", tmp_path / "run").status == 0
    kept = checkpoint.load(tmp_path / "run" / CHECKPOINT).facts
    assert (kept["step"], kept["recipe"]["seed"]) == (3, 8)
    assert (kept["recipe"]["train"]["lr"], kept["recipe"]["train"]["schedule"]) == (5e-3, "constant")


def test_says_where_it_stands(command: Command, recipe: Path, tmp_path: Path) -> None:
    told = command("train", recipe, "--out", tmp_path / "run")
    said = [line for line in (told.out + told.err).splitlines() if "validation loss" in line]
    assert [line.split(":")[0] for line in said] == ["update 0", "update 4", "update 8", "update 9"]


def test_a_run_that_is_done_has_nothing_left_to_do(command: Command, recipe: Path, tmp_path: Path) -> None:
    command("train", recipe, "--out", tmp_path / "run")
    before = losses(tmp_path / "run")
    assert command("resume", tmp_path / "run").status == 0
    assert losses(tmp_path / "run") == before


def test_generates_ids_where_there_is_no_alphabet(command: Command, recipe: Path, tmp_path: Path) -> None:
    """From the folder or the file, greedily or not; a seed decides what is drawn."""
    run = tmp_path / "run"
    command("train", recipe, "--out", run)
    words = ("--prompt", "3 1 0", "--tokens", "6")
    told = command("generate", run, *words, "--temperature", "0")
    assert told.status == 0
    assert told.err == ""
    ids = [int(word) for word in told.out.split()]
    assert ids[:3] == [3, 1, 0]
    assert len(ids) == 9
    assert max(ids) < 8
    assert command("generate", run / CHECKPOINT, *words, "--temperature", "0") == told
    drawn = {command("generate", run, *words, "--seed", str(seed)).out for seed in (1, 1, 2, 3)}
    assert 2 <= len(drawn) <= 3


def test_generates_what_the_trained_model_says(command: Command, recipe: Path, tmp_path: Path) -> None:
    """The one that the checkpoint describes, with its weights: every prompt of two tokens goes on alike."""
    run = tmp_path / "run"
    command("train", recipe, "train.lr=0.1", "train.steps=30", "--out", run)  # far from where it began
    model = Session.resumed(run).trainer.model
    for first in range(8):
        told = command("generate", run, "--prompt", f"{first} 2", "--tokens", "5", "--temperature", "0")
        assert told.out == " ".join(map(str, generate(model, [[first, 2]], 5)[0])) + "\n"


@pytest.mark.usefixtures("fresh_texts")
def test_generates_text(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the characters of the text that it learnt, without that text at hand."""
    assert command("train", text_file(tmp_path, monkeypatch), "--out", tmp_path / "run").status == 0
    monkeypatch.delenv("CORPUS")
    (tmp_path / "mine.txt").unlink()
    told = command("generate", tmp_path / "run", "--prompt", "to be", "--tokens", "30", "--top-k", "5")
    assert told.status == 0
    assert told.out.startswith("to be")
    assert len(told.out.removesuffix("\n")) == 35
    assert set(told.out) <= set(TEXT)


def test_ctrl_c_in_mid_step_ends_in_one_line(recipe: Path, tmp_path: Path) -> None:
    """A real process and a real signal: the update that is under way is done, and the line goes on from it."""
    folder = tmp_path / "run"
    words = [sys.executable, "-m", "blockproof.model", "train", str(recipe), "train.steps=1000000"]
    process = subprocess.Popen(
        [*words, "train.log_every=1", "train.eval_every=100000", "--out", str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not (folder / "log.jsonl").exists() or len(losses(folder)) < 3:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=30)[1].splitlines()
    finally:
        process.kill()
    assert process.returncode == 130
    kept = checkpoint.load(folder / CHECKPOINT).facts
    assert list(losses(folder)) == list(range(kept["step"]))
    assert "Traceback" not in "".join(errors)
    done = f"stopped after update {kept['step']} of 1000000; to go on: "
    assert [line for line in errors if "to go on" in line] == [
        f"{done}python -m blockproof.model resume {folder}"
    ]
    json.dumps(kept, allow_nan=False)


def test_an_interrupted_run_says_how_to_go_on(
    command: Command, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal comes in mid-update: that update is done, and what is said can be typed as it stands."""
    backward = Trainer.backward

    def pressed(self: Trainer) -> TrainingPoint:
        if self.step == 3:
            signal.raise_signal(signal.SIGINT)
        return backward(self)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "backward", pressed)
        told = command("train", recipe, "--out", tmp_path / "run")
    assert told.status == 130
    done, said = told.err.splitlines()[-1].split("; to go on: python -m blockproof.model ")
    assert done == "stopped after update 4 of 9"
    assert command(*said.split()).status == 0
    assert list(losses(tmp_path / "run")) == [0, 2, 4, 6, 8]


def test_ctrl_c_twice_gives_130_and_one_line(
    command: Command, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("blockproof.model.session.Session.run", pressed)
    told = command("train", recipe, "--out", tmp_path / "run")
    assert (told.status, told.out) == (130, "")
    assert told.err == "stopped in the middle of an update: the latest checkpoint is kept\n"
