"""A store gives back what was put in, never half of it, and only what today's source would give."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blockproof.ablations import fingerprint as fingerprints
from blockproof.ablations.fingerprint import fingerprint
from blockproof.ablations.record import Record, RecordError, pack
from blockproof.ablations.store import Archive, Store, open_shelf
from blockproof.ablations.study import Study
from blockproof.tests.unit.ablations import fabricated
from blockproof.tests.unit.ablations.samples import TINY, tiny_cells, tiny_record, without

RECORD = tiny_record(TINY, fingerprint(TINY))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """In a folder that does not exist yet."""
    return Store(tmp_path / "new" / "records")


def test_finds_what_was_added(store: Store) -> None:
    assert store.find(TINY) is None
    store.add(RECORD)
    assert store.find(TINY) == RECORD
    assert store.find(TINY.replace({"seed": 1})) is None


def test_does_not_find_what_another_source_gave(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add(RECORD)
    monkeypatch.setattr(fingerprints, "source_digest", lambda: "another")
    assert store.find(TINY) is None


def crash(*arguments: Any, **keywords: Any) -> None:
    """What a power cut or a full disk does."""
    raise OSError("crash")


@pytest.mark.parametrize(("owner", "name"), [(os, "fsync"), (Path, "replace")])
def test_a_crash_while_storing_leaves_no_record(
    store: Store, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, crash)
        with pytest.raises(OSError, match="crash"):
            store.add(RECORD)
    assert not list(store.folder.glob("*.json"))
    assert store.find(TINY) is None


def test_a_crash_while_replacing_keeps_the_record_there_was(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(RECORD)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", crash)
        with pytest.raises(OSError, match="crash"):
            store.add(Record(TINY, RECORD.fingerprint, {"ended": "new"}, {}))
    assert store.find(TINY) == RECORD


def test_the_data_are_on_the_disk_before_the_final_name(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def noting(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            order.append(name)
            return do(*arguments)

        return noted

    monkeypatch.setattr(os, "fsync", noting("sync", os.fsync))
    monkeypatch.setattr(Path, "replace", noting("name", Path.replace))
    store.add(RECORD)
    assert order == ["sync", "name"]


def test_what_json_cannot_hold_is_refused_and_leaves_nothing(store: Store) -> None:
    with pytest.raises(ValueError, match="JSON"):
        store.add(Record(TINY, RECORD.fingerprint, {"final_loss": float("nan")}, {}))
    assert not list(store.folder.glob("*"))


@pytest.mark.parametrize(
    "text", ["", '{"cell": {"run"', "[]", "{}", "null", '{"cell": {"what": 1}}', "\x00\xff"]
)
def test_a_damaged_record_is_named_with_a_remedy(store: Store, text: str) -> None:
    store.add(RECORD)
    path = store.path(RECORD.fingerprint)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RecordError, match=rf"{path.name} is damaged .*delete it"):
        store.find(TINY)


def test_discard_keeps_what_is_current_and_deletes_the_rest(store: Store) -> None:
    for cell in tiny_cells(3):
        store.add(tiny_record(cell, fingerprint(cell)))
    store.add(tiny_record(TINY, "0123456789abcdef"))  # of an older source
    for name in (".partial-abc", "notes.txt"):
        (store.folder / name).write_text("{", encoding="utf-8")
    assert store.discard(keep=tiny_cells(2)) == 3
    assert (store.folder / "notes.txt").exists(), "what is not the store's own was deleted"
    assert [store.find(cell) is not None for cell in tiny_cells(3)] == [True, True, False]


def test_an_archive_finds_by_cell_whatever_ran_it(tmp_path: Path) -> None:
    pack([tiny_record(TINY, "of-older-source")], path := tmp_path / "a.xz")
    shelf = open_shelf(path)
    assert isinstance(shelf, Archive)
    assert shelf.find(TINY) == tiny_record(TINY, "of-older-source")
    assert shelf.find(TINY.replace({"seed": 1})) is None
    assert isinstance(open_shelf(tmp_path), Store)


def test_a_field_that_a_published_cell_does_not_know_has_its_default(tmp_path: Path) -> None:
    old = without(TINY, "model", "embedding_dropout")
    pack([tiny_record(old)], path := tmp_path / "a.xz")
    assert Archive(path).find(TINY) == tiny_record(old)
    assert Archive(path).find(TINY.replace({"model.embedding_dropout": 0.1})) is None


def test_a_published_variant_that_no_longer_exists_harms_nobody(tmp_path: Path) -> None:
    pack(
        [tiny_record(TINY.replace({"model.norm.kind": "gone"})), tiny_record(TINY)], path := tmp_path / "a.xz"
    )
    assert Archive(path).find(TINY) == tiny_record(TINY)


def test_an_archive_that_lacks_cells_is_refused_with_their_number(tmp_path: Path) -> None:
    records = fabricated.records("position", "smoke")
    pack(records[3:], path := tmp_path / "a.xz")
    with pytest.raises(
        RecordError, match=rf"lacks 3 of the {len(records)} cells of position.*make ablations"
    ):
        Study("position", scale="smoke", records=path)


def test_a_study_that_may_not_train_refuses_a_folder_that_lacks_cells(store: Store) -> None:
    with pytest.raises(RecordError, match=r"lacks 28 of the 28 cells of position"):
        Study("position", scale="smoke", records=store.folder, train=False)


def test_a_study_of_an_archive_has_its_records_in_the_order_of_the_cells(tmp_path: Path) -> None:
    records = fabricated.records("position", "smoke")
    pack(records, path := tmp_path / "a.xz")
    assert Study("position", scale="smoke", records=path).records == records
