"""A fingerprint changes with all that can change a result, and with nothing else."""

import ast
from pathlib import Path

import pytest

from blockproof.ablations import fingerprint as module
from blockproof.ablations.faults import FAULTS
from blockproof.ablations.fingerprint import (
    ENTRY,
    fingerprint,
    imported,
    normalised,
    source_digest,
    sources,
)
from blockproof.tests.unit.ablations.samples import TINY

SOURCE = '''"""What it does."""

STEP = 2


class Walk:
    """One step after the other."""

    def go(self, x: int) -> int:
        """Where a step leads."""
        return x + STEP  # forward
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""What it does."""', ""),
        ("One step after the other.", "Step by step."),
        ("Where a step leads.", "There."),
        ("  # forward", ""),
        ("\n\n\nclass", "\n\nclass"),
        ("x + STEP", "(x + STEP)"),
    ],
)
def test_comments_docstrings_and_layout_cost_nothing(old: str, new: str) -> None:
    assert old in SOURCE
    assert normalised(SOURCE.replace(old, new)) == normalised(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("STEP = 2", "STEP = 3"),
        ("x + STEP", "x - STEP"),
        ("x: int", "x: int = 0"),
        ("STEP = 2", "STEP = '2'"),
    ],
)
def test_code_counts(old: str, new: str) -> None:
    assert normalised(SOURCE.replace(old, new)) != normalised(SOURCE)


def test_the_first_statement_counts_where_there_is_no_docstring() -> None:
    """Of a module, a class and a function: only a text that stands there documents."""
    for source in (
        "STEP = 2\n",
        "class Walk:\n    x = 2\n    y = 1\n",
        "def go():\n    x = 2\n    return x\n",
    ):
        assert normalised(source.replace("2", "3")) != normalised(source)


def test_a_function_that_is_only_documented_stays_a_function() -> None:
    assert ast.parse(normalised('def wait() -> None:\n    """Do nothing."""\n'))


def test_every_form_of_an_import_is_followed() -> None:
    """A module may be named by its package alone; a function or a class is none."""
    wanted = {
        "import blockproof.model.labels as other": {"blockproof.model.labels"},
        "from blockproof.model import labels": {"blockproof.model", "blockproof.model.labels"},
        "from blockproof.model.labels import shift": {"blockproof.model.labels"},
        "def late():\n    from blockproof.model import labels": {
            "blockproof.model",
            "blockproof.model.labels",
        },
        "import torch, blockproof.model": {"torch", "blockproof.model"},
    }
    for source, names in wanted.items():
        assert set(imported(ast.parse(source))) == names, source


def test_what_can_influence_a_result_is_in_the_closure() -> None:
    model = {path.stem for path in (Path(module.__file__).parents[1] / "model").glob("*.py")}
    not_run = {"__init__", "__main__", "count", "describe", "trace"}  # they only look at models
    # Runs that a person starts, and what these leave.
    not_run |= {"commands", "interruption", "log", "recipe", "session", "throughput"}
    not_run |= {"checkpoint", "stored", "exchange", "families", "hub", "hub_config"}
    wanted = {f"blockproof.model.{name}" for name in model - not_run}
    assert wanted | {"blockproof.ablations.runs", "blockproof.ablations.cell"} <= set(sources(ENTRY))


def test_what_only_shows_results_is_not() -> None:
    showing = (
        "views",
        "report",
        "figure",
        "engine",
        "frame",
        "store",
        "study",
        "notebook",
        "statistics",
        "specs",
    )
    assert not [name for name in sources(ENTRY) if any(part in name for part in showing)]


def test_no_source_hides_an_import_from_the_closure() -> None:
    """Relative imports have no full name, and ``import_module`` none that could be read.

    Patches name the modules that they change: those are in the closure by themselves.
    """
    found = sources(ENTRY)
    for name, path in found.items():
        tree = ast.parse(path.read_text("utf-8"))
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
        assert "import_module" not in ast.unparse(tree) or name == "blockproof.ablations.patch"
    assert {patch.name for fault in FAULTS.values() for patch in fault.patches} <= set(found)


def test_the_source_digest_follows_the_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "walk.py"
    monkeypatch.setattr(module, "sources", lambda entry: {"walk": file})
    digests = []
    for text in (SOURCE, SOURCE.replace("# forward", "# onward"), SOURCE.replace("STEP = 2", "STEP = 3")):
        file.write_text(text, encoding="utf-8")
        digests.append(source_digest.__wrapped__())
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("path", ["seed", "fault", "train.steps", "model.n_layers", "data.asked"])
def test_another_cell_has_another_fingerprint(path: str) -> None:
    assert fingerprint(TINY.replace({path: 8})) != fingerprint(TINY)


@pytest.mark.parametrize("name", ["source_digest", "arithmetic"])
def test_other_source_and_other_arithmetic_have_another_fingerprint(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = fingerprint(TINY)
    monkeypatch.setattr(module, name, lambda: "another")
    assert fingerprint(TINY) != before


def test_the_commit_is_unknown_where_there_is_no_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert module.commit.__wrapped__() == "unknown"
