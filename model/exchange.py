"""Weights in the names and layouts of the Hugging Face hub, and back: GPT-2's and LLaMA's.

Both directions follow one table for each family. GPT-2's linear layers are stored there as (in, out),
transposed; LLaMA's queries, keys and values as three matrices, which are the rows of our one.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from blockproof.model.config import ModelConfig
from blockproof.model.schema import ConfigError, hint
from blockproof.model.transformer import Transformer

State = Mapping[str, Tensor]


class Family(NamedTuple):
    """Our names to the hub's, for the whole and for block {i}; what is transposed, and what the hub splits."""

    whole: dict[str, str]
    block: dict[str, str]
    transposed: frozenset[str] = frozenset()


GPT2 = Family(
    whole={
        "token.weight": "transformer.wte.weight",
        "position.table.weight": "transformer.wpe.weight",
        "norm.weight": "transformer.ln_f.weight",
        "norm.bias": "transformer.ln_f.bias",
    },
    block={
        f"blocks.{{i}}.{ours}.{kind}": f"transformer.h.{{i}}.{theirs}.{kind}"
        for ours, theirs in {
            "attention.norm": "ln_1",
            "attention.sublayer.qkv": "attn.c_attn",
            "attention.sublayer.output": "attn.c_proj",
            "feedforward.norm": "ln_2",
            "feedforward.sublayer.up": "mlp.c_fc",
            "feedforward.sublayer.down": "mlp.c_proj",
        }.items()
        for kind in ("weight", "bias")
    },
    transposed=frozenset({"qkv.weight", "output.weight", "up.weight", "down.weight"}),
)
LLAMA = Family(
    whole={
        "token.weight": "model.embed_tokens.weight",
        "norm.weight": "model.norm.weight",
        "head.weight": "lm_head.weight",
    },
    block={
        f"blocks.{{i}}.{ours}.weight": f"model.layers.{{i}}.{theirs}.weight"
        for ours, theirs in {
            "attention.norm": "input_layernorm",
            "attention.sublayer.qkv": "self_attn.{part}_proj",
            "attention.sublayer.output": "self_attn.o_proj",
            "feedforward.norm": "post_attention_layernorm",
            "feedforward.sublayer.gate": "mlp.gate_proj",
            "feedforward.sublayer.up": "mlp.up_proj",
            "feedforward.sublayer.down": "mlp.down_proj",
        }.items()
    },
)
FAMILIES = {"gpt2": GPT2, "llama": LLAMA}
SPLIT = ("q", "k", "v")


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
    """The hub's state dict as one of ours.

    Raises:
        ConfigError: if a tensor is missing, or the model is not of that family's form.
    """
    with torch.device("meta"):
        wanted = Transformer(config).state_dict()
    found: dict[str, Tensor] = {}
    for ours, theirs, turned in _names(wanted, config, family):
        names = [theirs.format(part=part) for part in SPLIT] if "{part}" in theirs else [theirs]
        if missing := [name for name in names if name not in state]:
            raise ConfigError(f"the {family} weights lack {missing[0]!r}{hint(missing[0], [])}")
        tensor = torch.cat([state[name] for name in names])
        found[ours] = tensor.T.contiguous() if turned else tensor
        if found[ours].shape != wanted[ours].shape:
            shapes = f"{tuple(found[ours].shape)}, the config asks for {tuple(wanted[ours].shape)}"
            raise ConfigError(
                f"{names[0]} has shape {shapes}: choose the config that the weights were made with"
            )
    return found


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
