"""What was run once and is kept beside the report: a reproduction, and what the soak test found."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from blockproof.ablations import reproduction as runs
from blockproof.ablations.record import Record, RecordError

FOLDER = Path(str(resources.files("blockproof.report")))


def reproduction() -> list[Record]:
    """The records of the published configuration on its own text."""
    return runs.load(FOLDER / "reproduction.json.xz")


def mutants() -> dict[str, Any]:
    """The kill matrix: planted bugs, and the tests that turned red."""
    return _json("mutants.json")


def zoo() -> dict[str, Any]:
    """Architectures of a library that people use, and what the checks said of each."""
    return _json("zoo.json")


def _json(name: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((FOLDER / name).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(f"report/{name} cannot be read ({error}): 'make soak' makes it") from error
    return found
