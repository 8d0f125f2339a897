"""Sets records into ``report.md``: every number in it comes from them, and ``check`` proves it."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from blockproof.ablations import notebook
from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.record import Record, RecordError, pack
from blockproof.ablations.store import Archive
from blockproof.ablations.study import Study
from blockproof.ablations.views import style
from blockproof.ablations.views.style import THEMES
from blockproof.report import kept, reproduction, sizes, soak, suite
from blockproof.report.agreement import agreement
from blockproof.report.text import render

RECORDS, TEXT, FIGURES, DATA = "records.json.xz", "report.md", "figures", "data"
OWN = (suite.NAME, sizes.NAME, reproduction.NAME, soak.NAME)  # figures that no notebook draws


class Material:
    """All that a report is made of.

    Raises:
        RecordError: if a record or the suite's evidence is lacking or damaged.
    """

    def __init__(self, scale: str, records: Path, evidence: Path) -> None:
        self.scale, self.records = scale, records
        self.studies = {name: Study(name, scale=scale, records=records, train=False) for name in ABLATIONS}
        self.evidence = suite.load(evidence)

    @property
    def text(self) -> str:
        """The report's text."""
        return render(self.studies, self.evidence)

    @property
    def data_files(self) -> dict[str, str]:
        """File name to CSV text."""
        files = sizes.data_files() | suite.data_files(self.evidence)
        files |= reproduction.data_files(kept.reproduction()) | soak.data_files(kept.mutants(), kept.zoo())
        for study in self.studies.values():
            files |= study.data_files()
        return files

    @property
    def distinct(self) -> list[Record]:
        """Every record once, though ablations may share some."""
        return list({r.cell.key: r for study in self.studies.values() for r in study.records}.values())


def build(
    folder: Path,
    *,
    scale: str,
    records: Path | None = None,
    evidence: Path | None = None,
    drawn: Path | None = None,
) -> str:
    """Make the report in a folder, and say in one line how its records agree with those there before.

    Args:
        folder: where ``report.md``, ``figures/``, ``data/``, the packed records and the evidence are.
        scale: a key of ``SCALES``.
        records: the store or archive to report on; by default the packed records of the folder.
        evidence: what the test suite wrote; by default the folder's.
        drawn: a folder with the notebooks' output; by default the notebooks are executed.

    Raises:
        RecordError: if a record, a figure or the evidence is lacking or damaged.
    """
    packed, kept = folder / RECORDS, folder / suite.FILE
    material = Material(scale, records or packed, evidence or kept)
    before = Archive(packed) if packed.exists() else None
    text = material.text  # first: what cannot be rendered must not leave half a new report
    _figures(folder, material, drawn)
    _write_data(folder / DATA, material.data_files)
    (folder / TEXT).write_text(text, encoding="utf-8")
    kept.write_text(json.dumps(material.evidence, indent=1) + "\n", encoding="utf-8")
    pack(material.distinct, packed)
    return agreement(material.distinct, before)


def check(folder: Path, *, scale: str) -> list[str]:
    """What differs between the report in a folder and what its records give: text and data, not pixels."""
    material = Material(scale, folder / RECORDS, folder / suite.FILE)
    expected = {TEXT: material.text}
    expected |= {f"{DATA}/{name}": text for name, text in material.data_files.items()}
    wrong = [
        f"{name} is not what the records give"
        for name, text in expected.items()
        if _read(folder / name) != text
    ]
    pictures = [f"{FIGURES}/{name}" for name in _pictures(*OWN, *ABLATIONS)]
    wrong += [f"{name} is missing" for name in pictures if not (folder / name).exists()]
    known = {*expected, *pictures}
    found = {f"{part}/{path.name}" for part in (DATA, FIGURES) for path in (folder / part).glob("*")}
    return wrong + [f"{name} belongs to nothing in the report" for name in sorted(found - known)]


def _figures(folder: Path, material: Material, drawn: Path | None) -> None:
    """Take the figures that the notebooks drew; execute the notebooks unless that has been done."""
    with tempfile.TemporaryDirectory() as scratch:
        out = drawn or Path(scratch)
        if drawn is None:
            for name in ABLATIONS:
                parameters = {
                    "scale": material.scale, "records": str(material.records.resolve()), "out": str(out),
                }  # fmt: skip
                notebook.execute(name, out / f"{name}.ipynb", parameters)
        lacking = [name for name in _pictures(*ABLATIONS) if not (out / name).exists()]
        if lacking:
            raise RecordError(f"{out} lacks {', '.join(lacking)}: execute the notebooks into it")
        target = _emptied(folder / FIGURES)
        for name in _pictures(*ABLATIONS):
            shutil.copyfile(out / name, target / name)
    style.save(sizes.figure, target, sizes.NAME)
    style.save(lambda: reproduction.figure(kept.reproduction()), target, reproduction.NAME)
    style.save(lambda: soak.figure(kept.mutants()), target, soak.NAME)
    style.save(lambda: suite.figure(material.evidence), target, suite.NAME)


def _pictures(*names: str) -> list[str]:
    return [f"{name}-{theme}.png" for name in names for theme in THEMES]


def _write_data(folder: Path, files: Mapping[str, str]) -> None:
    _emptied(folder)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _read(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None
