"""One ablation, done: its records, frames, table and figure. This is what a notebook talks to."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from blockproof.ablations import engine
from blockproof.ablations.catalogue import ablation
from blockproof.ablations.frame import Frame, varying
from blockproof.ablations.record import Record, RecordError
from blockproof.ablations.spec import expand
from blockproof.ablations.store import Store, open_shelf
from blockproof.ablations.views import style


class Results:
    """An ablation's records, with what is shown of them."""

    def __init__(self, name: str, records: Sequence[Record]) -> None:
        self.name, self.records = name, records
        self.spec, self.view = ablation(name)

    @cached_property
    def frames(self) -> dict[str, Frame]:
        """The data behind table and figure."""
        return self.view.frames(self.records)

    @property
    def table(self) -> Frame:
        """The numbers, one row a variant."""
        return self.view.table(self.frames)

    def show(self, theme: str = "light") -> None:
        """Draw the figure, for the notebook to show."""
        from IPython.display import display  # noqa: PLC0415 (only where there is a notebook)

        with style.themed(theme):
            display(self.view.figure(self.frames))

    def save(self, folder: str | Path) -> None:
        """Write the figure in each theme, the table, and the data behind both, as PNG and CSV."""
        out = Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        style.save(lambda: self.view.figure(self.frames), out, self.name)
        for file, text in self.data_files().items():
            (out / file).write_text(text, encoding="utf-8")

    def data_files(self) -> dict[str, str]:
        """File name to CSV text: the table, and of every frame the columns that vary."""
        named = {f"{self.name}.csv": self.table}
        named |= {f"{self.name}-{key}.csv": varying(rows) for key, rows in self.frames.items()}
        return {file: rows.to_csv(index=False, float_format="%.6g") for file, rows in named.items()}


class Study(Results):
    """An ablation at a scale, its records found on a shelf, or made there in this process.

    Args:
        name: a key of ``ABLATIONS``.
        scale: a key of ``SCALES``.
        records: a folder to find records in, or an archive (``….xz``).
        overrides: values for dotted paths of the cells, such as ``{"train.steps": 5}``.
        train: whether to run what a folder lacks and add it there.

    Raises:
        ConfigError: for an unknown name, scale or path.
        RecordError: if a record is lacking that is not to be made, or is damaged.
    """

    def __init__(
        self,
        name: str,
        *,
        scale: str,
        records: str | Path,
        overrides: Mapping[str, Any] | None = None,
        train: bool = True,
    ) -> None:
        cells = expand(ablation(name).spec, scale, overrides)
        shelf = open_shelf(Path(records))
        if train and isinstance(shelf, Store):
            found = engine.run(cells, shelf)
        else:
            found = [record for cell in cells if (record := shelf.find(cell))]
        if len(found) < len(cells):
            raise RecordError(
                f"{records} lacks {len(cells) - len(found)} of the {len(cells)} cells of {name} at scale {scale}: "
                f"run 'make ablations' (if they were made from another text, set the same CORPUS)"
            )
        super().__init__(name, found)
