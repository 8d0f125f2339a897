"""A published result, run again: nanoGPT's configuration for a processor on the text that it was made for.

The text, 1,115,394 characters of Shakespeare as one file, is not part of the project: ``CORPUS`` names it.
"""

from pathlib import Path

from blockproof.ablations import engine
from blockproof.ablations.cell import Cell
from blockproof.ablations.record import Record, RecordError, pack, unpack
from blockproof.ablations.spec import complete
from blockproof.ablations.store import Store
from blockproof.model.corpus import CorpusError, load_corpus
from blockproof.model.recipe import read

SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
RECIPE, SEEDS = "shakespeare_char_cpu", 3
EVERY_WINDOW = 10**6  # more than there are: the whole split is scored


def cells() -> list[Cell]:
    """One a seed.

    Raises:
        CorpusError: if ``CORPUS`` names no text, or another.
    """
    if (corpus := load_corpus()).sha256 != SHA256:
        raise CorpusError(
            f"the reproduction needs tiny Shakespeare (SHA-256 {SHA256[:12]}…), but {corpus.origin} has "
            f"{corpus.sha256[:12]}…: set CORPUS to that file"
        )
    recipe = read(RECIPE)
    data = {**recipe["data"], "validation_windows": EVERY_WINDOW}
    cell = Cell(run="train", model=recipe["model"], train=recipe["train"], data=data, seed=0)
    return [complete(cell.replace({"seed": seed})) for seed in range(SEEDS)]


def reproduce(store: Store, file: Path, submit: engine.Submit) -> None:
    """Train what is not stored yet, and pack the records into a file."""
    records = engine.run(cells(), store, submit)
    file.parent.mkdir(parents=True, exist_ok=True)
    pack(records, file)


def load(file: Path) -> list[Record]:
    """The records in a file.

    Raises:
        RecordError: if it is missing or damaged, or holds records of something else.
    """
    records = unpack(file)
    if not records or any(record.cell.data.get("sha256") != SHA256 for record in records):
        raise RecordError(
            f"{file} holds no run on tiny Shakespeare: make it with 'make reproduction CORPUS=…'"
        )
    return records
