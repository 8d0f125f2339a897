"""New records against published ones: the same, close, far, otherwise ended, new."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blockproof.ablations.record import Record, pack
from blockproof.ablations.store import Archive
from blockproof.report.agreement import SPREADS, agreement, spreads, variant
from blockproof.tests.unit.ablations import fabricated
from blockproof.tests.unit.ablations.samples import without

PUBLISHED = fabricated.records("residual", "smoke")
FIRST = PUBLISHED[0]
SPREAD = abs(PUBLISHED[0].result["final_loss"] - PUBLISHED[1].result["final_loss"]) / 2**0.5  # two seeds


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Both seeds of every variant."""
    pack(PUBLISHED, path := tmp_path_factory.mktemp("published") / "a.xz")
    return Archive(path)


def other(record: Record, **result: Any) -> Record:
    return replace(record, result={**record.result, **result})


def moved(record: Record, spread: float) -> Record:
    return other(record, final_loss=record.result["final_loss"] + spread * SPREAD)


def counts(line: str) -> tuple[int, ...]:
    """Agreeing, published, identical and new cells."""
    words = line.replace(f"within {SPREADS:g} ", "").split()
    return tuple(int(word) for word in words if word.isdigit())


def test_the_spread_is_that_of_the_seeds_of_one_variant() -> None:
    assert PUBLISHED[0].cell.replace({"seed": 1}) == PUBLISHED[1].cell
    assert spreads(PUBLISHED)[variant(FIRST)] == pytest.approx(SPREAD)
    assert len(spreads(PUBLISHED)) == len(PUBLISHED) / 2


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (FIRST, (1, 1, 1, 0)),
        (replace(FIRST, fingerprint="of-other-source", observed={}), (1, 1, 1, 0)),
        (moved(FIRST, 0.99 * SPREADS), (1, 1, 0, 0)),
        (moved(FIRST, -0.99 * SPREADS), (1, 1, 0, 0)),
        (moved(FIRST, 1.01 * SPREADS), (0, 1, 0, 0)),
        (moved(FIRST, -1.01 * SPREADS), (0, 1, 0, 0)),
        (other(FIRST, ended="collapsed"), (0, 1, 0, 0)),
        (replace(FIRST, cell=FIRST.cell.replace({"seed": 9})), (0, 0, 0, 1)),
    ],
)
def test_one_record(record: Record, expected: tuple[int, ...], archive: Archive) -> None:
    assert counts(agreement([record], archive)) == expected


def archive_of(folder: Path, records: Sequence[Record]) -> Archive:
    pack(list(records), path := folder / "other.xz")
    return Archive(path)


def test_a_diverged_run_agrees_by_its_loss_at_init(tmp_path: Path) -> None:
    gone = next(r for r in fabricated.records("norm_placement") if r.result["final_loss"] is None)
    archive = archive_of(tmp_path, [gone])
    assert counts(agreement([gone], archive)) == (1, 1, 1, 0)
    assert counts(agreement([other(gone, loss_at_init=99.0)], archive)) == (0, 1, 0, 0)


def test_nan_agrees_with_nothing(archive: Archive) -> None:
    """Not even with a number that stands within every spread of anything."""
    assert counts(agreement([other(FIRST, final_loss=math.nan)], archive)) == (0, 1, 0, 0)


def test_a_field_that_is_newer_than_the_published_cells(tmp_path: Path) -> None:
    older = [replace(record, cell=without(record.cell, "model", "embedding_dropout")) for record in PUBLISHED]
    archive = archive_of(tmp_path, older)
    assert counts(agreement([FIRST, moved(FIRST, 0.5), moved(FIRST, 4)], archive)) == (2, 3, 1, 0)


def test_permutations_agree_by_the_clean_pair(tmp_path: Path) -> None:
    published = [record for record in fabricated.records("position", "smoke") if "moved" in record.result]
    archive, number = archive_of(tmp_path, published), len(published)
    assert counts(agreement(published, archive)) == (number, number, number, 0)
    far = other(published[0], moved={"clean": 50.0, "confounded": 1.0})
    assert counts(agreement([far], archive)) == (0, 1, 0, 0)


def test_nothing_published() -> None:
    assert agreement(PUBLISHED, None) == f"{len(PUBLISHED)} cells; nothing was published before"


def test_new_cells_are_counted(tmp_path: Path) -> None:
    assert counts(agreement(PUBLISHED, archive_of(tmp_path, PUBLISHED[:3]))) == (3, 3, 3, len(PUBLISHED) - 3)
