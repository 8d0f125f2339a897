"""A record: what one cell gave; and how many records are packed into one file."""

import json
import lzma
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockproof.ablations.cell import Cell

PARTIAL = ".partial-"  # how the names of half written files start


class RecordError(ValueError):
    """A stored record that cannot be used; the message names the file and the remedy."""


@dataclass(frozen=True)
class Record:
    """What a cell gave.

    Attributes:
        cell: what was run.
        fingerprint: of all that determines the result.
        result: bit-identical on one kind of machine.
        observed: what may differ from run to run: time, memory, versions, hardware.
    """

    cell: Cell
    fingerprint: str
    result: dict[str, Any]
    observed: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "cell": self.cell.to_dict(),
            "fingerprint": self.fingerprint,
            "result": self.result,
            "observed": self.observed,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Record":
        """The inverse of ``to_dict``."""
        return cls(Cell(**data["cell"]), data["fingerprint"], data["result"], data["observed"])


def pack(records: list[Record], path: Path) -> None:
    """Write records into one compressed file, in an order that does not depend on who finished first.

    The keys of a record keep their order: layers are stored in the data's order.
    """
    ordered = sorted(records, key=lambda record: record.cell.key)
    lines = [json.dumps(record.to_dict(), allow_nan=False) for record in ordered]
    write_whole(path, lzma.compress("\n".join(lines).encode(), preset=9))


def write_whole(path: Path, content: bytes) -> None:
    """Give a file its name only when its content is complete and on the disk."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PARTIAL, delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).chmod(0o644)  # a temporary file is its owner's alone
    Path(file.name).replace(path)


def unpack(path: Path) -> list[Record]:
    """Read what ``pack`` wrote.

    Raises:
        RecordError: if the file is missing, truncated or not such a file.
    """
    try:
        text = lzma.decompress(path.read_bytes()).decode()
        return [Record.from_dict(json.loads(line)) for line in text.splitlines()]
    except FileNotFoundError:
        raise RecordError(f"there are no records at {path}: 'make ablations' makes them") from None
    except (lzma.LZMAError, ValueError, KeyError, TypeError, EOFError) as error:
        remedy = "restore it from version control, or make it anew with 'make ablations'"
        raise RecordError(f"the records in {path} are damaged ({error}): {remedy}") from error
