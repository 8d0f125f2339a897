"""One file that holds a run: tensors by name in the safetensors format, and the rest as JSON in its header.

Neither can run code. A file is written beside its place and then moved there, so that at every moment
either the old or the new one is whole.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialise
from torch import Tensor

FORMAT = "blockproof checkpoint 1"


class CheckpointError(ValueError):
    """A checkpoint that cannot be written or used; the message names the file and the remedy."""


class Checkpoint(NamedTuple):
    """What ``save`` was given."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


def save(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write a checkpoint in one step: whatever goes wrong, an earlier one stays as it was.

    Raises:
        CheckpointError: if the folder or the disk does not take it, or facts are no strict JSON.
    """
    kept = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    try:
        text = json.dumps(dict(facts), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path} cannot hold these facts: {error}") from error
    header = {"format": FORMAT, "facts": text, "sha256": _digest(kept, text)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, serialise(kept, header))
    except OSError as error:
        raise CheckpointError(
            f"{path} cannot be written ({error.strerror}): an earlier checkpoint is as it was; "
            f"make room or choose another folder"
        ) from error


def load(path: Path) -> Checkpoint:
    """Read what ``save`` wrote; every byte of it is checked.

    Raises:
        CheckpointError: if there is no such file, or it is no whole checkpoint of this format.
    """
    if not path.is_file():
        raise CheckpointError(f"there is no checkpoint {path}: give the file, or train first")
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} is no whole safetensors file ({error}): it was cut off, or is of another format; "
            f"take an earlier copy (files that could run code are not read)"
        ) from error
    if header.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} is no {FORMAT!r} but {header.get('format', 'a file of tensors alone')!r}: "
            f"weights of other programs are brought in by blockproof.model.exchange"
        )
    text = header.get("facts", "")
    if header.get("sha256") != _digest(tensors, text):
        raise CheckpointError(
            f"{path} is damaged, its contents are not what was written: take an earlier copy"
        )
    return Checkpoint(tensors, json.loads(text))


def _write(path: Path, data: bytes) -> None:
    """Beside the place first, then into it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:  # an interruption as well
        with suppress(OSError):
            Path(name).unlink()
        raise


def _digest(tensors: Mapping[str, Tensor], text: str) -> str:
    """SHA-256 over names, kinds, shapes and bytes of all tensors, and over the facts."""
    digest = hashlib.sha256(text.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
