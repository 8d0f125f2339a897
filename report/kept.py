"""What was run once and is kept beside the report: a reproduction of a published result."""

from importlib import resources
from pathlib import Path

from blockproof.ablations import reproduction as runs
from blockproof.ablations.record import Record

FILE = Path(str(resources.files("blockproof.report"))) / "reproduction.json.xz"


def reproduction() -> list[Record]:
    """The records of the published configuration on its own text."""
    return runs.load(FILE)
