"""Architectures of Hugging Face's, each as a tiny model of random weights built from its config alone."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from blockproof.tests.zoo.sizes import EXCEPTIONS, HEADS, LAYERS, SIZES, UNFIT, V

LARGEST = 3_000_000  # parameters; what stays larger at the smallest sizes is not built
PER_LAYER = 4  # most layers that a pattern of kinds is given
IDS = ("_token_id", "_token_index", "_index")  # ends of the names of fields that hold ids


class NotBuiltError(Exception):
    """An architecture that cannot be built tiny and random; the message says why."""


@dataclass(frozen=True)
class Architecture:
    """One kind of causal language model.

    Attributes:
        name: the ``model_type`` of its config.
        classname: of the model.
        parameters: how many the tiny model has.
        factory: makes it, without arguments.
    """

    name: str
    classname: str
    parameters: int
    factory: Callable[[], nn.Module]


def names() -> dict[str, str]:
    """The class of each causal language model, by the ``model_type`` of its config."""
    from transformers.models.auto.modeling_auto import (  # noqa: PLC0415 (takes seconds)
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    )

    return dict(sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items()))


def architecture(name: str) -> Architecture:
    """Build the config, the model on the meta device, and say how it is made.

    Raises:
        NotBuiltError: if that fails, or the model is not small.
    """
    if name in UNFIT:
        raise NotBuiltError(UNFIT[name])
    try:
        with torch.device("meta"):
            count = sum(parameter.numel() for parameter in made(name).parameters())
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise NotBuiltError(told[:200]) from error
    if count > LARGEST:
        raise NotBuiltError(f"{count:,} parameters at the smallest sizes")
    return Architecture(name, names()[name], count, lambda: made(name))


def made(name: str) -> nn.Module:
    """The model, its experts one by one: those in one product do not run in float64."""
    from transformers import AutoModelForCausalLM  # noqa: PLC0415 (takes seconds)

    return AutoModelForCausalLM.from_config(small(name), experts_implementation="eager")


def small(name: str) -> Any:
    """The config of an architecture with every size made small."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: PLC0415 (takes seconds)

    return shrunk(CONFIG_MAPPING[name], EXCEPTIONS.get(name, {}))


def shrunk(cls: Callable[..., Any], exceptions: dict[str, Any]) -> Any:
    """A config of a class: its defaults, with ``SIZES`` and one layer of each kind."""
    default = cls()
    fields = {name: _field(default, name) for name in inspect.signature(cls).parameters}
    changed: dict[str, Any] = {}
    for name, value in fields.items():
        if hasattr(value, "to_dict"):
            changed[name] = shrunk(type(value), exceptions.get(name, {}))
        elif isinstance(value, int) and not isinstance(value, bool):
            changed[name] = _size(name, value)
    changed = {name: value for name, value in changed.items() if value is not None}
    given = {name: value for name, value in exceptions.items() if not hasattr(fields.get(name), "to_dict")}
    if fields.get("is_decoder") is False:
        changed["is_decoder"] = True  # BERT and its kin are causal if told to be
    if fields.get("kv_lora_rank"):
        changed["num_key_value_heads"] = (
            fields["num_attention_heads"] and HEADS
        )  # latent attention shares none
    return cls(**{**changed, **_layers(fields), **given})


def _field(config: Any, name: str) -> Any:
    """A field's value, also of one that differs by layer, which the config does not give as an attribute."""
    try:
        return getattr(config, name, None)
    except Exception:
        return vars(config).get(name)


def _size(name: str, value: int) -> int | None:
    """What a number is set to; ids that the vocabulary has no room for become its last one."""
    if name.endswith(IDS):
        return min(value, V - 1)
    return min(value, SIZES[name]) if name in SIZES and value > 0 else None


def _layers(fields: dict[str, Any]) -> dict[str, Any]:
    """Lists with an entry for each layer, cut to one layer of each kind, and the number of layers then."""
    number = next((fields[name] for name in ("num_hidden_layers", "num_layers") if name in fields), None)
    lists = {
        name: value
        for name, value in fields.items()
        if isinstance(value, list | tuple) and len(value) == number
    }
    if not lists:
        return {}
    kinds = [str(kind) for kind in zip(*lists.values(), strict=True)]
    first = [kinds.index(kind) for kind in dict.fromkeys(kinds)][:PER_LAYER]
    kept = first if len(first) >= LAYERS else first * LAYERS
    count: dict[str, Any] = {
        name: len(kept) for name in ("num_hidden_layers", "num_layers") if name in fields
    }
    return {**{name: [_cut(name, value[i]) for i in kept] for name, value in lists.items()}, **count}


def _cut(name: str, value: Any) -> Any:
    """An entry of a list by layers, made small if it is a size."""
    return min(value, SIZES[name]) if isinstance(value, int) and name in SIZES else value
