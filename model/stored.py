"""What a checkpoint is good for: a run that goes on, or a model alone."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from blockproof.model import checkpoint
from blockproof.model.checkpoint import CheckpointError
from blockproof.model.config import ModelConfig
from blockproof.model.recipe import SECTIONS, Recipe
from blockproof.model.schema import ConfigError
from blockproof.model.transformer import Transformer
from blockproof.model.weights import below, load_weights


def run_of(path: Path, facts: Mapping[str, Any]) -> tuple[Recipe, int]:
    """The recipe of a run and the number of updates that are done.

    Raises:
        CheckpointError: if the checkpoint is of no run.
        ConfigError: if the recipe cannot be used here.
    """
    recipe = _fact(path, facts, "recipe", dict)
    for section in SECTIONS[:3]:
        _fact(path, recipe, section, dict)
    step = _fact(path, facts, "step", int)
    if step < 0:
        raise CheckpointError(f"{path} tells of {step} updates: take an earlier copy")
    return Recipe.from_dict(recipe), step


def model_of(path: Path) -> tuple[Transformer, str | None]:
    """A model as it was stored, of a run or alone, and its alphabet if it has one.

    Raises:
        CheckpointError: if there is none, or its weights are not those of its config.
    """
    kept = checkpoint.load(path)
    told = kept.facts if "model" in kept.facts else _fact(path, kept.facts, "recipe", dict)
    weights, alphabet = below("model.", kept.tensors), kept.facts.get("alphabet")
    with naming(path):
        model = built(ModelConfig.from_dict(_fact(path, told, "model", dict)), weights)
    return model, None if alphabet is None else _fact(path, kept.facts, "alphabet", str)


def built(config: ModelConfig, weights: Mapping[str, Tensor]) -> Transformer:
    """A model with these weights, in eval mode and on the CPU; its dtype is theirs, but float32 at least.

    Raises:
        CheckpointError: if they are not those of such a model.
    """
    dtype = reduce(torch.promote_types, (tensor.dtype for tensor in weights.values()), torch.float32)
    model = Transformer(config).to(dtype)
    load_weights(model, weights)
    return model.eval()


def save_model(path: Path, model: Transformer) -> None:
    """Store a model alone.

    Raises:
        CheckpointError: if there is a file already, or it cannot be written.
    """
    if path.exists():
        raise CheckpointError(f"{path} is there already: choose another name")
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    checkpoint.save(path, tensors, {"model": model.config.to_dict(), "alphabet": None})


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error about what a checkpoint holds say which one."""
    try:
        yield
    except (CheckpointError, ConfigError) as error:
        raise CheckpointError(f"{path}: {error}") from error


def _fact(path: Path, facts: Mapping[str, Any], name: str, kind: type) -> Any:
    if type(facts.get(name)) is not kind:
        found = "none" if name not in facts else type(facts[name]).__name__
        raise CheckpointError(
            f"{path} holds no {name} of the kind {kind.__name__}, but {found}: "
            f"give a checkpoint that python -m blockproof.model train wrote"
        )
    return facts[name]
