"""The command line in this process, on a small recipe in a folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from blockproof.model.__main__ import main
from blockproof.tests.unit.running.recipes import VALUES

TEXT = "to be, or not to be: that is the question.\n" * 9


class Told(NamedTuple):
    """What a command gave and said."""

    status: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line of a failure: nothing else may stand there, least of all a traceback."""
        lines = self.err.splitlines()
        assert (self.status, self.out, len(lines)) == (1, "", 1), self
        assert lines[0].startswith("error: ")
        return lines[0]


Command = Callable[..., Told]


def command_of(capsys: pytest.CaptureFixture[str]) -> Command:
    """Calls the command line with these words."""

    def command(*words: str | Path) -> Told:
        capsys.readouterr()
        status = main([str(word) for word in words])
        return Told(status, *capsys.readouterr())

    return command


def recipe_file(folder: Path, **sections: Any) -> Path:
    """The small recipe as a YAML file, with sections exchanged."""
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump(VALUES | sections))
    return file


def text_file(folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes = TEXT.encode()) -> Path:
    """A recipe of a text that ``CORPUS`` names."""
    corpus = folder / "mine.txt"
    corpus.write_bytes(content)
    monkeypatch.setenv("CORPUS", str(corpus))
    return recipe_file(folder, data={"source": "text", "validation_windows": 4})
