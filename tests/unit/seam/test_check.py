"""``blockproof check``, as a user runs it: from their folder, on models right and wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from blockproof.tests.cli import main

THEIRS = """
import warnings
from model import WHOSE
from tests.util import SIZE
from blockproof.tests.unit.seam.styles import Bare, NanoStyle, V

def build():
    warnings.warn("the user's own affair")
    return NanoStyle()

class Double(NanoStyle):
    def forward(self, idx, targets=None):
        logits, loss = super().forward(idx, targets)
        if targets is not None:
            import torch.nn.functional as F
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten())
        return logits, loss

def broken():
    raise RuntimeError("no weights here")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's folder: their model, their tests, and settings of pytest that would break others' tests."""
    place = tmp_path_factory.mktemp("theirs")
    (place / "tests").mkdir()
    (place / "tests" / "__init__.py").touch()
    (place / "tests" / "util.py").write_text("SIZE = 7\n", encoding="utf-8")
    (place / "tests" / "test_theirs.py").write_text("def test_fails(): assert False\n", encoding="utf-8")
    (place / "model.py").write_text("WHOSE = 'theirs'\n", encoding="utf-8")
    (place / "mine.py").write_text(THEIRS, encoding="utf-8")
    (place / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n", encoding="utf-8")
    return place


def check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "blockproof.tests.cli", "check", *words]
    return subprocess.run(
        command, cwd=folder, env=os.environ, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_right_model_passes_from_its_folder(folder: Path) -> None:
    """All checks but the slow one; warnings of theirs are theirs, and so are their tests and settings."""
    evidence = folder / "out" / "evidence.json"
    done = check(folder, "mine.py:build", "-k", "not overfit and not floor", "--evidence", str(evidence))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mine.py:build: no fault found" in done.stdout
    assert done.stdout.rstrip().endswith("remarks."), "the verdict is the last that is said"
    found = json.loads(evidence.read_text("utf-8"))["checks"]
    assert {each["model"] for each in found.values()} == {"mine.py:build"}
    assert found["test_loss_asks_for_the_next_token[yours]"]["outcome"] == "passed"
    assert found["test_a_loss_of_no_labels_is_defined[yours]"]["outcome"] == "remark"


def test_the_first_thing_to_fix_is_the_cause(folder: Path) -> None:
    done = check(folder, "mine.py:Double", "-k", "labels or loss")
    assert done.returncode == 1
    paragraph = done.stdout[done.stdout.index("first thing to fix") :]
    assert "test_loss_asks_for_the_next_token" in paragraph
    assert "the labels are shifted twice" in paragraph
    assert "Remedy: Score the logits at t against the token at t + 1, once" in paragraph
    assert done.stdout.rstrip().endswith("more may follow from it.")


LIGHT = """
import importlib, pkgutil, sys
import blockproof.tests.plugin
assert "torch" not in sys.modules, "the plugin is loaded with every pytest run"
import blockproof.tests.conformance as conformance
for found in pkgutil.iter_modules(conformance.__path__):
    importlib.import_module(f"blockproof.tests.conformance.{found.name}")
heavy = {"pandas", "matplotlib", "seaborn", "scipy", "dask", "transformers", "blockproof.model"} & sys.modules.keys()
assert not heavy, heavy
"""


def test_conformance_needs_torch_and_pytest_alone(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_too_few_checks_are_no_verdict(folder: Path) -> None:
    done = check(folder, "mine.py:Bare", "-k", "labels or loss")
    assert done.returncode == 1
    assert "not judged: fewer than" in done.stdout
    assert "the model reports no loss" in done.stdout


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("mine.py:broken", "the factory mine.py:broken failed: RuntimeError: no weights here"),
        ("mine.py:biuld", "has no 'biuld'"),
        ("none.py:build", "there is no file none.py"),
    ],
)
def test_what_cannot_be_judged_has_one_message(target: str, message: str, folder: Path) -> None:
    done = check(folder, target)
    assert done.returncode not in (0, 1)
    assert (done.stdout + done.stderr).count(message) == 1
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("words", [[], ["chekc"], ["check"], ["check", "-q"]])
def test_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "usage: blockproof" in capsys.readouterr().err


def test_other_commands_are_found_behind_the_same_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "tiny"]) == 0
    assert "parameters" in capsys.readouterr().out
