"""Safetensors files: tensors by name and a few texts, nothing that could run code; whole, or not there at all."""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialise
from torch import Tensor

RUNS_CODE = (b"PK\x03\x04", b"\x80")  # how zip archives (torch.save) and pickles begin


class CheckpointError(ValueError):
    """Stored weights that cannot be written or used; the message says where, what is wrong, and the remedy."""


def write(path: Path, tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> None:
    """Put a file in its place, with its folder. Equal tensors and one text make equal bytes.

    Args:
        path: where; what was there stays as it was if anything goes wrong.
        tensors: plain ones, on any device; none may share memory with another.
        texts: by name.

    Raises:
        CheckpointError: if the format, the folder or the disk does not take it.
    """
    try:
        content = serialise(plain(tensors), dict(texts))
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path} cannot be written: {error}") from error
    write_whole(path, content)


def plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors on the CPU and contiguous, the same ones where they are so already.

    Raises:
        CheckpointError: for one that has no plain data, or a name that the format keeps for its texts.
    """
    for name, tensor in tensors.items():
        if tensor.layout is not torch.strided or tensor.is_meta:
            raise CheckpointError(
                f"{name} cannot be stored, it is {tensor.layout} on {tensor.device}: give plain data"
            )
        if name == "__metadata__":
            raise CheckpointError(f"no tensor can be stored under the name {name!r}: choose another")
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors, in memory of their own, and the texts of a file.

    Raises:
        CheckpointError: if there is no such file, or it is not a whole one of this format.
    """
    if path.is_dir():
        raise CheckpointError(f"{path} is a folder: give the file in it")
    if not path.is_file():  # a pipe would never end
        raise CheckpointError(f"there is no checkpoint {path}: give the path of one, or train first")
    try:
        with safe_open(path, framework="pt") as file:
            texts = file.metadata() or {}
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (no mapping)
    except PermissionError as error:
        raise CheckpointError(f"{path} cannot be read ({error}): see to its permissions") from error
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path} is not a whole safetensors file ({error}): {_remedy(path)}") from error
    return tensors, texts


def write_whole(path: Path, content: bytes) -> None:
    """Give a file its name only when its content is complete and on the disk.

    Raises:
        CheckpointError: if the folder or the disk does not take it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content)
    except OSError as error:
        raise CheckpointError(
            f"{path} cannot be written ({error.strerror}): what was there is as it was; "
            f"make room, or choose another folder"
        ) from error


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".partial-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)  # a temporary file is its owner's alone
        Path(name).replace(path)
    except BaseException:  # Ctrl-C as well
        with suppress(OSError):
            Path(name).unlink()
        raise


def _remedy(path: Path) -> str:
    """What to do about a file that is not whole; only such a one, as a whole one may begin like a pickle."""
    with path.open("rb") as file:
        start = file.read(4)
    if start.startswith(RUNS_CODE):
        return (
            "it seems to be a zip archive or a pickle, as torch.save makes them, which could run code when read; "
            "blockproof reads none, let the program that wrote it store safetensors"
        )
    return "it is empty, cut off, damaged, or of another format; take another copy of it"
