"""Models in the layout of the Hugging Face hub: a folder with config.json and safetensors files, in and out.

No code is run and no pickle is read. There is a network behind a name only, never behind a folder.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from blockproof.model import tensorfile
from blockproof.model.exchange import from_hub, to_hub
from blockproof.model.hub_config import from_hub_config, to_hub_config
from blockproof.model.schema import ConfigError
from blockproof.model.stored import built
from blockproof.model.tensorfile import CheckpointError
from blockproof.model.transformer import Transformer

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


def read(source: str | Path) -> Transformer:
    """The model in a folder, or of that name on the hub, in eval mode and on the CPU.

    Its dtype is that of the weights, but float32 at least.

    Raises:
        CheckpointError: if there is no such folder or name, or its weights cannot be read.
        ConfigError: if the model is one that ours cannot be, or config and weights differ.
    """
    folder = Path(source) if Path(source).is_dir() else _download(str(source))
    try:
        config, family = from_hub_config(_json(folder / CONFIG))
        state = _shards(folder) if not (folder / WEIGHTS).exists() else tensorfile.read(folder / WEIGHTS)[0]
        found = from_hub(state, config, family)
    except ConfigError as error:
        raise ConfigError(f"{folder}: {error}") from error
    return built(config, found)


def write(model: Transformer, folder: Path) -> None:
    """Make a folder that ``transformers.AutoModelForCausalLM.from_pretrained`` reads; it has no tokenizer.

    Raises:
        ConfigError: if the model has no form that GPT-2 or LLaMA can have there.
        CheckpointError: if the folder has contents already, or cannot be written.
    """
    values, family = to_hub_config(model.config)
    state = to_hub(model.state_dict(), model.config, family)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointError(f"{folder} has contents already: choose a new folder")
    values["torch_dtype"] = str(model.token.weight.dtype).removeprefix("torch.")
    tensorfile.write(folder / WEIGHTS, state, {"format": "pt"})
    tensorfile.write_whole(folder / CONFIG, (json.dumps(values, indent=2) + "\n").encode())


def _shards(folder: Path) -> dict[str, Tensor]:
    """The tensors of all files that the index names."""
    if not (folder / INDEX).exists():
        pickled = sorted(file.name for kind in PICKLES for file in folder.glob(kind))
        but = f" but {pickled[0]}, which could run code when read and is not read" if pickled else ""
        raise CheckpointError(
            f"{folder} has no {WEIGHTS}{but}: let the program that wrote it store safetensors"
        )
    places = _json(folder / INDEX).get("weight_map")
    if not isinstance(places, Mapping) or not all(isinstance(place, str) for place in places.values()):
        raise CheckpointError(
            f"{folder / INDEX} has no weight_map of names to files: take another copy of it"
        )
    files = sorted(set(places.values()))
    if outside := [name for name in files if not re.fullmatch(r"[\w.-]+\.safetensors", name)]:
        raise CheckpointError(f"{folder / INDEX} names {outside[0]!r}, no safetensors file of its folder")
    state: dict[str, Tensor] = {}
    for file in files:
        tensors, _ = tensorfile.read(folder / file)
        if tensors.keys() != {name for name, place in places.items() if place == file}:
            raise CheckpointError(
                f"{folder / file} does not hold what {INDEX} says: take another copy of both"
            )
        state |= tensors
    return state


def _json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path.name} cannot be read ({error.strerror}): it belongs beside the weights"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path.name} is no JSON ({error}): take another copy of it") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{path.name} must hold names and values: take another copy of it")
    return values


def _download(name: str) -> Path:
    """The folder where the hub's client keeps a copy; only what is needed is fetched."""
    remedy = "download the model's folder yourself and give its path"
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415 (it is optional)
    except ImportError as error:
        raise CheckpointError(
            f"there is no folder {name}, and the hub is out of reach without its client: "
            f"pip install huggingface_hub, or {remedy}"
        ) from error
    try:
        return Path(snapshot_download(name, allow_patterns=[CONFIG, INDEX, "model*.safetensors"]))
    except Exception as error:  # whatever goes wrong on the way
        why = str(error).strip().partition("\n")[0] or type(error).__name__
        raise CheckpointError(
            f"there is no folder {name}, nor does the hub give it ({why}): {remedy}"
        ) from error
