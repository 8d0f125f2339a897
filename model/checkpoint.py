"""One file that holds a run: tensors by name in the safetensors format, and the rest as JSON in its header.

Neither can run code. Every content is checked by a digest, and a file is there as a whole or not at all.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from blockproof.model import tensorfile
from blockproof.model.tensorfile import CheckpointError
from blockproof.model.weights import aliases, bare_names

__all__ = ["Checkpoint", "CheckpointError", "load", "save"]

FORMAT = 1
HEADER = "blockproof"  # the name of the one text beside the tensors
FIELDS = {"format": int, "aliases": dict, "facts": dict, "sha256": str}  # of that text, which is JSON
REMEDY = "take an earlier copy"


class Checkpoint(NamedTuple):
    """What ``save`` was given."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


def save(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write a checkpoint in one step: whatever goes wrong, an earlier one stays as it was.

    Names are stored without what torch.compile adds to them. A tensor with several names is stored
    under the first by the alphabet, and has all of them again when loaded. Equal contents in equal
    order make equal bytes.

    Args:
        path: the file.
        tensors: of any dtype, on any device.
        facts: JSON data, which come back equal: finite numbers, text for keys, lists and no tuples.

    Raises:
        CheckpointError: if the folder or the disk does not take it, if facts are no such data, or
            tensors share a part of their memory only.
    """
    try:
        named = bare_names(tensors)
        same = aliases(named)
        kept = tensorfile.plain({name: tensor for name, tensor in named.items() if name not in same})
        about = {"format": FORMAT, "aliases": same, "facts": _checked(facts)}
    except CheckpointError as error:
        raise CheckpointError(f"{path} cannot be written: {error}") from error
    tensorfile.write(path, kept, {HEADER: json.dumps(about | {"sha256": _digest(kept, about)})})


def load(path: Path) -> Checkpoint:
    """Read what ``save`` wrote, into memory of its own on the CPU.

    Raises:
        CheckpointError: if there is no such file, or it is no whole checkpoint of this format.
    """
    tensors, texts = tensorfile.read(path)
    if HEADER not in texts:
        raise CheckpointError(
            f"{path} holds weights alone and is no checkpoint of blockproof: read weights of the Hugging Face "
            f"hub with blockproof.model.hub.read, from the folder that also has their config.json"
        )
    about = _parse(path, texts[HEADER])
    digest, same = about.pop("sha256"), about["aliases"]
    if digest != _digest(tensors, about) or not tensors.keys() >= set(map(str, same.values())):
        raise CheckpointError(f"{path} is damaged, it does not hold what was written: {REMEDY}")
    return Checkpoint(tensors | {name: tensors[kept] for name, kept in same.items()}, about["facts"])


def _checked(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts, if JSON gives them back as they are."""
    plain = dict(facts)
    try:
        same = json.loads(json.dumps(plain, allow_nan=False)) == plain
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"the facts are no JSON data ({error})") from error
    if not same:
        raise CheckpointError("the facts would come back changed: use text for keys, and lists, not tuples")
    return plain


def _parse(path: Path, text: str) -> dict[str, Any]:
    """What the header tells, in the form that it must have; whoever wrote it, nothing but data comes of it."""
    try:
        about = dict(json.loads(text))
        json.dumps(about, allow_nan=False)
        found = about["format"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged, its header cannot be read ({error}): {REMEDY}") from error
    if found != FORMAT:
        raise CheckpointError(
            f"{path} is a checkpoint of format {found!r}, and this blockproof reads format {FORMAT}: "
            f"read it with the blockproof that wrote it"
        )
    if {key: type(value) for key, value in about.items()} != FIELDS:
        raise CheckpointError(f"{path} is damaged, its header is not whole: {REMEDY}")
    return about


def _digest(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> str:
    """SHA-256 over names, dtypes, shapes and bytes of the tensors, and over what is told about them."""
    digest = hashlib.sha256(json.dumps(about).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, str(tensor.dtype), tensor.shape]).encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
