"""Writing is all or nothing, and reading runs no code, allocates nothing absurd and says what is wrong."""

import errno
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from blockproof.model.tensorfile import CheckpointError, read, write

SPAWNED = """
import os, resource, signal, sys
from pathlib import Path
import torch
from blockproof.model.tensorfile import CheckpointError, write
path = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (10**5, 10**5))
try:
    write(path, {"a": torch.ones(10**5)}, {})
except CheckpointError as error:
    print(error, flush=True)
print(len(os.listdir(path.parent)), flush=True)
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
write(path, {"a": torch.ones(2)}, {})
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of a file that is there already."""
    write(tmp_path / "weights.safetensors", {"a": torch.zeros(3)}, {"which": "the earlier one"})
    return tmp_path / "weights.safetensors"


def assert_untouched(path: Path) -> None:
    tensors, texts = read(path)
    assert texts == {"which": "the earlier one"}
    assert tensors["a"].tolist() == [0, 0, 0]


class Full:
    """A file on a full disk takes the first bytes."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> "Full":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, content: bytes) -> None:
        self.file.write(content[:20])
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("place", ["os.fsync", "pathlib.Path.replace", "pathlib.Path.chmod"])
def test_a_failed_write_leaves_all_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, place: str, failure: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise failure

    expected = KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else CheckpointError
    with monkeypatch.context() as patch:
        patch.setattr(place, fail)
        with pytest.raises(expected):
            write(path, {"a": torch.ones(3)}, {})
    assert_untouched(path)
    assert list(path.parent.iterdir()) == [path]


def test_a_full_disk_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.fdopen
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", lambda *args: Full(opened(*args)))
        with pytest.raises(
            CheckpointError, match=r"weights.*cannot be written \(No space left on device\): .*make room"
        ):
            write(path, {"a": torch.ones(3)}, {})
    assert_untouched(path)
    assert list(path.parent.iterdir()) == [path]


def test_all_is_on_the_disk_before_it_has_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is synchronised is the whole new content, while the old one still has the name."""
    seen: list[tuple[int, str, int]] = []
    synchronise = os.fsync

    def look(handle: int) -> None:
        beside = len(list(path.parent.iterdir()))  # on one disk, where it can be moved in one step
        seen.append((os.fstat(handle).st_size, read(path)[1]["which"], beside))
        synchronise(handle)

    monkeypatch.setattr(os, "fsync", look)
    write(path, {"a": torch.ones(300)}, {"which": "the new one"})
    assert seen == [(path.stat().st_size, "the earlier one", 2)]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_real_limit_and_a_real_kill(path: Path) -> None:
    """The system refuses to write more, then ends the process in the middle of a write."""
    done = subprocess.run(
        [sys.executable, "-c", SPAWNED, str(path)], capture_output=True, text=True, check=False, timeout=120
    )
    assert "cannot be written (File too large)" in done.stdout, done.stderr
    assert done.stdout.endswith("\n1\n")
    assert done.returncode == -signal.SIGKILL
    assert_untouched(path)


def test_folders_are_made_or_named(tmp_path: Path) -> None:
    write(tmp_path / "new" / "deep" / "w.safetensors", {}, {"text": "ä"})
    assert read(tmp_path / "new" / "deep" / "w.safetensors") == ({}, {"text": "ä"})
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "w.safetensors", tmp_path / "new"):
        with pytest.raises(CheckpointError, match=r"cannot be written .* choose another folder"):
            write(place, {}, {})
    assert [each.name for each in tmp_path.iterdir() if "partial" in each.name] == []


@pytest.mark.parametrize("act", ["write", "read"])
@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write and read everywhere")
def test_permissions(path: Path, act: str) -> None:
    path.chmod(0)
    path.parent.chmod(0o500)
    with pytest.raises(CheckpointError, match="Permission denied"):
        write(path, {}, {}) if act == "write" else read(path)


def with_header(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(start: int, end: int, size: int = 2, dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": [size], "data_offsets": [start, end]}


HOSTILE = {
    "a length beyond all memory": b"\xff" * 8 + b"{}",
    "a length beyond the file": struct.pack("<Q", 99_000_000) + b'{"',
    "deep nesting": with_header(b'{"a":' + b"[" * 10**6 + b"]" * 10**6 + b"}"),
    "no JSON": with_header(b"\xffabc"),
    "overlapping": with_header({"a": entry(0, 8), "b": entry(4, 12)}, bytes(12)),
    "out of range": with_header({"a": entry(8, 16)}, bytes(8)),
    "negative": with_header({"a": entry(-8, 0)}, bytes(8)),
    "too large a shape": with_header({"a": entry(0, 8, size=2**63)}, bytes(8)),
    "no such dtype": with_header({"a": entry(0, 8, dtype="object")}, bytes(8)),
    "bytes left over": with_header({"a": entry(0, 8)}, bytes(9)),
    "texts that are none": with_header({"__metadata__": {"a": 1}}),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"weights\.safetensors is not a whole safetensors file"):
        read(path)


class Runs:
    """Pickled, it would make a folder when read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return os.mkdir, (self.path,)


def test_nothing_is_unpickled(path: Path) -> None:
    trap = Runs(path.with_suffix(".trap"))
    for legacy in (False, True):
        torch.save(trap, path, _use_new_zipfile_serialization=not legacy)
        with pytest.raises(CheckpointError, match=r"not a whole safetensors .* a zip archive or a pickle"):
            read(path)
    path.write_bytes(pickle.dumps(trap))
    with pytest.raises(CheckpointError, match=r"could run code .* reads none"):
        read(path)
    assert not trap.path.exists()


def test_a_file_that_begins_like_a_pickle(path: Path) -> None:
    """The first byte tells how long the header is, and may be any that is divisible by 8."""
    starts = set()
    for length in range(1, 260, 8):
        write(path, {"a" * length: torch.ones(2)}, {})
        starts.add(path.read_bytes()[0])
        assert list(read(path)[0]) == ["a" * length]
    assert pickle.dumps(0)[0] in starts


def test_what_is_no_file(path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"there is no checkpoint .*nowhere: give the path"):
        read(path.parent / "nowhere")
    with pytest.raises(CheckpointError, match="is a folder: give the file in it"):
        read(path.parent)
    os.mkfifo(path.parent / "pipe")
    with pytest.raises(CheckpointError, match=r"there is no checkpoint .*pipe"):
        read(path.parent / "pipe")
    path.write_bytes(b"")
    with pytest.raises(CheckpointError, match="is empty"):
        read(path)
