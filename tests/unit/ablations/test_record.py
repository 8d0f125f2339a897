"""Records survive storing and packing whole, or are refused by name."""

import json
import lzma
import math
import os
import random
from pathlib import Path

import pytest

from blockproof.ablations.record import Record, RecordError, pack, unpack
from blockproof.tests.unit.ablations.fabricated import layer_names
from blockproof.tests.unit.ablations.samples import TINY, tiny_cells, tiny_record

RECORDS = [tiny_record(cell, f"{i:016x}") for i, cell in enumerate(tiny_cells(5))]


def test_survives_json() -> None:
    assert Record.from_dict(json.loads(json.dumps(RECORDS[0].to_dict(), allow_nan=False))) == RECORDS[0]


def test_pack_and_unpack(tmp_path: Path) -> None:
    pack(RECORDS, tmp_path / "a.xz")
    assert sorted(unpack(tmp_path / "a.xz"), key=lambda record: record.fingerprint) == RECORDS


def test_the_packed_file_does_not_depend_on_who_finished_first(tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(RECORDS, len(RECORDS))
    assert shuffled != RECORDS
    pack(RECORDS, tmp_path / "a.xz")
    pack(shuffled, tmp_path / "b.xz")
    assert (tmp_path / "a.xz").read_bytes() == (tmp_path / "b.xz").read_bytes()


def test_layers_keep_the_order_of_the_data(tmp_path: Path) -> None:
    """Sorted by name, block 10 would come before block 2."""
    layers = dict.fromkeys(layer_names(12), 1.0)
    pack([Record(TINY, "", {"layers": layers}, {})], tmp_path / "a.xz")
    assert list(unpack(tmp_path / "a.xz")[0].result["layers"]) == list(layers)


def test_a_crash_while_packing_keeps_what_was_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(file: int) -> None:
        raise OSError("crash")

    pack(RECORDS, path := tmp_path / "a.xz")
    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="crash"):
        pack(RECORDS[:1], path)
    assert len(unpack(path)) == len(RECORDS)


def test_a_truncated_archive_is_refused_at_any_length(tmp_path: Path) -> None:
    pack(RECORDS, path := tmp_path / "a.xz")
    whole = path.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(RecordError, match=r"a\.xz .*damaged.*make ablations"):
            unpack(path)


@pytest.mark.parametrize("text", ["not JSON", "{}", "[]", '{"cell": 3}', "\ud800"])
def test_a_foreign_archive_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.xz"
    path.write_bytes(lzma.compress(text.encode("utf-8", "surrogatepass")))
    with pytest.raises(RecordError, match=r"a\.xz .*damaged"):
        unpack(path)


def test_a_missing_archive_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"a\.xz: 'make ablations' makes them"):
        unpack(tmp_path / "a.xz")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_hold_is_not_published(value: float, tmp_path: Path) -> None:
    """Python would write and read it; nobody else could."""
    pack(RECORDS, path := tmp_path / "a.xz")
    with pytest.raises(ValueError, match="Out of range float values"):
        pack([Record(TINY, "", {"final_loss": value}, {})], path)
    assert len(unpack(path)) == len(RECORDS)
