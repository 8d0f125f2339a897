"""Where records lie: one file each, under the fingerprint of what determined them."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from blockproof.ablations.cell import Cell
from blockproof.ablations.fingerprint import fingerprint
from blockproof.ablations.record import PARTIAL, Record, RecordError, unpack, write_whole
from blockproof.ablations.spec import complete
from blockproof.model.schema import ConfigError

OURS = rf"[0-9a-f]{{16}}\.json|{PARTIAL}.*"  # the names of the files that a store may delete


class Store:
    """A folder of records, to which records are added. A reader never sees half a record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, cell: Cell) -> Record | None:
        """The stored record that today's source and machine would give again, or None.

        Raises:
            RecordError: if its file is damaged.
        """
        path = self.path(fingerprint(cell))
        try:
            return Record.from_dict(json.loads(path.read_text("utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            remedy = "delete it, and the next run makes it anew"
            raise RecordError(f"the record {path} is damaged ({error}): {remedy}") from error

    def add(self, record: Record) -> None:
        """Write a record under its final name only when it is complete and on the disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record.to_dict(), allow_nan=False)
        write_whole(self.path(record.fingerprint), text.encode())

    def discard(self, keep: Iterable[Cell]) -> int:
        """Delete all records but those of these cells, and what was half written; say how many files."""
        kept = {self.path(fingerprint(cell)) for cell in keep}
        ours = [path for path in self.folder.glob("*") if re.fullmatch(OURS, path.name)]
        stale = [path for path in ours if path not in kept]
        for path in stale:
            path.unlink()
        return len(stale)

    def path(self, fingerprint: str) -> Path:
        """The file that a record of this fingerprint has."""
        return self.folder / f"{fingerprint}.json"


class Archive:
    """A packed file of records, read only, found by cell: what was published, whatever ran it.

    A field that was added to the configurations since then counts as having its default in them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, Record] = {}
        for record in unpack(path):
            with suppress(ConfigError):  # of a variant that no longer exists: nothing will ask for it
                self.records[complete(record.cell).key] = record

    def find(self, cell: Cell) -> Record | None:
        """The published record of a cell, or None."""
        return self.records.get(cell.key)


def open_shelf(path: Path) -> Store | Archive:
    """The archive if the path has its ending, else a store in that folder."""
    return Archive(path) if path.suffix == ".xz" else Store(path)
