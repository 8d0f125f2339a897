"""What the tests of the command line have in common."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from blockproof.model import corpus
from blockproof.tests.unit.running.runs import Command, command_of, recipe_file


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line in this process."""
    return command_of(capsys)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """The small recipe as a file."""
    return recipe_file(tmp_path)


@pytest.fixture
def fresh_texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No text is remembered from before, nor after."""
    monkeypatch.delenv("CORPUS", raising=False)
    yield
    corpus._load_file.cache_clear()
