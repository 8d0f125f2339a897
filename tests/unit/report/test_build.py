"""A report that was built passes its check; whatever is altered in it is named."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from blockproof.ablations.record import RecordError, pack, unpack
from blockproof.ablations.views.style import THEMES
from blockproof.report.build import DATA, FIGURES, OWN, RECORDS, TEXT, build, check
from blockproof.report.suite import FILE as EVIDENCE
from blockproof.tests.unit.ablations.samples import cells
from blockproof.tests.unit.report.conftest import SCALE

pytestmark = pytest.mark.usefixtures("quick_cells")
OURS = tuple(f"{name}-" for name in OWN)  # figures that no notebook draws


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_is_what_its_records_give(report: Path, drawn: Path) -> None:
    assert check(report, scale=SCALE) == []
    figures = files(report / FIGURES)
    own = {name: figures.pop(name) for name in list(figures) if name.startswith(OURS)}
    assert figures == files(drawn)
    assert len(own) == len(OURS) * len(THEMES)
    assert all(content.startswith(b"\x89PNG") for content in own.values())


def test_made_anew_from_its_own_records_it_is_the_same(report: Path, drawn: Path) -> None:
    before = files(report)
    assert "bit by bit; 0 cells are new" in build(report, scale=SCALE, drawn=drawn)
    assert files(report) == before


def edited(name: str, old: str, new: str) -> Callable[[Path], None]:
    def alter(report: Path) -> None:
        text = (report / name).read_text("utf-8")
        assert old in text
        (report / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return alter


def with_another_loss(report: Path) -> None:
    """One run on text, of the position ablation alone, ends elsewhere."""
    text = [cell for cell in cells("position", SCALE) if cell.data.get("source") == "text"]
    cell = next(cell for cell in text if cell.model["position"] == "none")  # the other one is swap's too
    records = {record.cell.key: record for record in unpack(report / RECORDS)}
    old = records[cell.key]
    records[cell.key] = replace(old, result={**old.result, "final_loss": 0.5})
    pack(list(records.values()), report / RECORDS)


def stray(name: str) -> Callable[[Path], None]:
    def alter(report: Path) -> None:
        (report / name).write_text("of an older run", encoding="utf-8")

    return alter


def without(name: str) -> Callable[[Path], None]:
    return lambda report: (report / name).unlink()


def other(*names: str) -> list[str]:
    return [f"{name} is not what the records give" for name in names]


@pytest.mark.parametrize(
    ("alter", "wrong"),
    [
        (edited(TEXT, "[", "[1"), other(TEXT)),
        (edited(TEXT, "not judged", "holds"), other(TEXT)),
        (without(TEXT), other(TEXT)),
        (edited(f"{DATA}/residual-runs.csv", "0.", "0.1"), other(f"{DATA}/residual-runs.csv")),
        (without(f"{DATA}/position.csv"), other(f"{DATA}/position.csv")),
        (with_another_loss, other(TEXT, f"{DATA}/position.csv", f"{DATA}/position-text.csv")),
        (edited(f"{DATA}/sizes.csv", "124439808", "124439809"), other(f"{DATA}/sizes.csv")),
        (edited(EVIDENCE, "0.125", "0.25"), other(TEXT)),
        (edited(EVIDENCE, "2.5e-07", "3.5e-07"), other(TEXT, f"{DATA}/suite-checks.csv")),
        (without(f"{FIGURES}/suite-dark.png"), [f"{FIGURES}/suite-dark.png is missing"]),
        (without(f"{FIGURES}/sizes-light.png"), [f"{FIGURES}/sizes-light.png is missing"]),
        (without(f"{FIGURES}/residual-dark.png"), [f"{FIGURES}/residual-dark.png is missing"]),
        (stray(f"{DATA}/old.csv"), [f"{DATA}/old.csv belongs to nothing in the report"]),
        (stray(f"{FIGURES}/old.png"), [f"{FIGURES}/old.png belongs to nothing in the report"]),
    ],
)
def test_what_is_altered_is_named_and_nothing_else(
    report: Path, alter: Callable[[Path], None], wrong: list[str]
) -> None:
    alter(report)
    assert check(report, scale=SCALE) == wrong


def test_a_stale_figure_or_table_does_not_survive_a_new_report(report: Path, drawn: Path) -> None:
    stray(f"{DATA}/old.csv")(report)
    stray(f"{FIGURES}/old.png")(report)
    build(report, scale=SCALE, drawn=drawn)
    assert check(report, scale=SCALE) == []


def test_lacking_figures_are_named_and_the_old_report_stays(report: Path, tmp_path: Path) -> None:
    before = files(report)
    with pytest.raises(RecordError, match=r"lacks residual-light\.png"):
        build(report, scale=SCALE, drawn=tmp_path)
    assert files(report) == before
