"""Weights in the names and layouts of the Hugging Face hub, and back: GPT-2's and LLaMA's."""

import re
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from blockproof.model.config import ModelConfig
from blockproof.model.families import FAMILIES, HEAD, SPLIT, Family
from blockproof.model.schema import ConfigError, hint
from blockproof.model.transformer import Transformer

State = Mapping[str, Tensor]
REMEDY = "choose the config that the weights were made with"


def to_hub(tensors: State, config: ModelConfig, family: str) -> dict[str, Tensor]:
    """A state dict of ours, or its gradients, by the hub's names; a tied head is not named.

    Raises:
        ConfigError: if the model is not of that family's form.
    """
    found: dict[str, Tensor] = {}
    for ours, theirs, turned in _names(tensors, config, family):
        tensor = tensors[ours].T if turned else tensors[ours]
        if "{part}" not in theirs:
            found[theirs] = tensor.contiguous()
            continue
        parts = tensor.split([config.d_model, config.d_kv, config.d_kv])
        found |= {
            theirs.format(part=part): piece.contiguous() for part, piece in zip(SPLIT, parts, strict=True)
        }
    return found


def from_hub(state: State, config: ModelConfig, family: str) -> dict[str, Tensor]:
    """The hub's state dict as one of ours; what can be worked out is left out.

    Raises:
        ConfigError: if a tensor is missing, left over or of another shape, or the model is not of that
            family's form.
    """
    if config.n_layers > len(state):
        raise ConfigError(f"{len(state)} tensors are too few for {config.n_layers} layers: {REMEDY}")
    try:
        with torch.device("meta"):
            wanted = Transformer(config).state_dict()
    except (RuntimeError, TypeError) as error:  # torch's ways to say that a size is beyond 64 bits
        raise ConfigError(f"no tensors can have the sizes of the config ({error}): {REMEDY}") from error
    places = list(_names(wanted, config, family))
    given = _complete(state, config, FAMILIES[family])
    found: dict[str, Tensor] = {}
    for ours, theirs, turned in places:
        names = [theirs.format(part=part) for part in SPLIT] if "{part}" in theirs else [theirs]
        if missing := [name for name in names if name not in given]:
            raise ConfigError(f"the {family} weights lack {missing[0]!r}{hint(missing[0], given)}")
        tensor = torch.cat([given.pop(name) for name in names])
        found[ours] = tensor.T.contiguous() if turned else tensor
        if found[ours].shape != wanted[ours].shape:
            shapes = f"{tuple(found[ours].shape)}, the config asks for {tuple(wanted[ours].shape)}"
            raise ConfigError(f"{names[0]} has shape {shapes}: {REMEDY}")
    if given:
        raise ConfigError(
            f"a {family} of this config has no place for {min(given)!r} ({len(given)} left over): {REMEDY}"
        )
    return found


def _complete(state: State, config: ModelConfig, family: Family) -> dict[str, Tensor]:
    """The hub's tensors under their full names, without buffers and a second copy of a tied head."""
    prefix = "" if any(name.startswith(family.prefix) for name in state) else family.prefix
    given = {
        name if name == HEAD else prefix + name: tensor
        for name, tensor in state.items()
        if not re.search(family.buffers, name)
    }
    token = given.get(family.whole["token.weight"])
    if config.tied and token is not None and not torch.equal(given.pop(HEAD, token), token):
        raise ConfigError(
            f"{HEAD} is not the embedding, and the config ties them: set tied (tie_word_embeddings) to false"
        )
    return given


def _names(tensors: State, config: ModelConfig, family: str) -> Iterator[tuple[str, str, bool]]:
    """Our name, the hub's, and whether it is stored transposed, for each of our tensors."""
    if family not in FAMILIES:
        raise ConfigError(f"there is no family {family!r}{hint(family, FAMILIES)}")
    table = FAMILIES[family]
    known = dict(table.whole)
    for i in range(config.n_layers):
        known |= {ours.format(i=i): theirs.replace("{i}", str(i)) for ours, theirs in table.block.items()}
    for name in tensors:
        if name not in known:
            raise ConfigError(f"{name} has no place in {family} weights: the model is not of that form")
        yield name, known[name], name.split(".", 4)[-1] in table.transposed
