"""The hub's config.json as a config of ours, and back: GPT-2's and LLaMA's, as far as our model can be that."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from blockproof.model.config import ModelConfig
from blockproof.model.nested import leaves, with_values
from blockproof.model.schema import ConfigError, hint

# Theirs by ours; where two of theirs are the same function, the first is written.
ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu",
               "silu": "silu", "swish": "silu"}  # fmt: skip
# What would change the function or needs code of its own, with the one value that does neither.
ANY: dict[str, Any] = {"quantization_config": None, "auto_map": None, "sliding_window": None}


class Form(NamedTuple):
    """What a family's config.json says of our model.

    Attributes:
        form: our fields that all its models share.
        sizes: the hub's keys that are always there, and our field.
        options: keys that may be left out: their value then, and our fields.
        only: keys for which our model has one value.
        architecture: the class in ``transformers``.
    """

    form: dict[str, Any]
    sizes: dict[str, str]
    options: dict[str, tuple[Any, tuple[str, ...]]]
    only: dict[str, Any]
    architecture: str


FORMS = {
    "gpt2": Form(
        form={"position": "learned"},
        sizes={
            "vocab_size": "vocab_size",
            "n_positions": "context",
            "n_embd": "d_model",
            "n_layer": "n_layers",
            "n_head": "attention.n_heads",
        },
        options={
            "n_inner": (None, ("feedforward.width",)),
            "activation_function": ("gelu_new", ("feedforward.kind",)),
            "layer_norm_epsilon": (1e-5, ("norm.eps",)),
            "tie_word_embeddings": (True, ("tied",)),
            "embd_pdrop": (0.1, ("embedding_dropout",)),
            "attn_pdrop": (0.1, ("attention.dropout",)),
            "resid_pdrop": (0.1, ("feedforward.dropout", "attention.output_dropout")),
        },
        only={
            "scale_attn_weights": True,
            "scale_attn_by_inverse_layer_idx": False,
            "add_cross_attention": False,
        },
        architecture="GPT2LMHeadModel",
    ),
    "llama": Form(
        form={"position": "rope", "norm": {"kind": "rmsnorm"}, "feedforward": {"kind": "swiglu"}},
        sizes={
            "vocab_size": "vocab_size",
            "max_position_embeddings": "context",
            "hidden_size": "d_model",
            "num_hidden_layers": "n_layers",
            "num_attention_heads": "attention.n_heads",
            "intermediate_size": "feedforward.width",
        },
        options={
            "num_key_value_heads": (None, ("attention.n_kv_heads",)),
            "rms_norm_eps": (1e-6, ("norm.eps",)),
            "tie_word_embeddings": (False, ("tied",)),
            "attention_bias": (False, ("attention.qkv_bias", "attention.output_bias")),
            "mlp_bias": (False, ("feedforward.bias",)),
            "attention_dropout": (0.0, ("attention.dropout",)),
        },
        only={
            "hidden_act": "silu",
            "rope_theta": 10000.0,
            "rope_type": "default",
            "rope_scaling": None,
            "partial_rotary_factor": 1.0,
        },
        architecture="LlamaForCausalLM",
    ),
}


def from_hub_config(values: Mapping[str, Any]) -> tuple[ModelConfig, str]:
    """Our config of the model that a config.json is about, and its family.

    Raises:
        ConfigError: if it is of another family, lacks a size, or asks for what our model cannot be.
    """
    family = values.get("model_type")
    if not isinstance(family, str) or family not in FORMS:
        raise ConfigError(f"model_type = {family!r} is not supported{hint(family, FORMS)}")
    form = FORMS[family]
    rope = values.get("rope_parameters")
    given = {**values, **(rope if isinstance(rope, Mapping) else {})}  # newer files keep them together
    for key, only in (ANY | form.only).items():
        if (value := given.get(key, only)) != only:
            raise ConfigError(f"{key} = {value!r} is not supported, only {only!r} is")
    if missing := [key for key in form.sizes if key not in given]:
        raise ConfigError(f"{missing[0]!r} is missing: take the file from where the weights come from")
    fields = {path: given[key] for key, path in form.sizes.items()}
    for key, (default, paths) in form.options.items():
        fields |= dict.fromkeys(paths, given.get(key, default))
    if family == "gpt2":
        fields["feedforward.kind"] = _activation(fields["feedforward.kind"])
    config = ModelConfig.from_dict(with_values(form.form, fields))
    if (d_head := given.get("head_dim")) not in (None, config.d_head):
        raise ConfigError(f"head_dim = {d_head!r} is not supported, only width / heads = {config.d_head} is")
    return config, family


def to_hub_config(config: ModelConfig) -> tuple[dict[str, Any], str]:
    """What config.json says of a model of ours, and its family; dropout as far as it has a place there.

    Raises:
        ConfigError: if it is of neither family's form.
    """
    family = "llama" if config.position == "rope" else "gpt2"
    form, fields = FORMS[family], _explicit(config)
    found = {key: fields[path] for key, path in form.sizes.items()}
    found |= {key: fields[paths[0]] for key, (_, paths) in form.options.items()}
    if family == "gpt2":
        theirs = {ours: each for each, ours in reversed(ACTIVATIONS.items())}
        found["activation_function"] = theirs.get(config.feedforward.kind)
    else:
        found |= {"hidden_act": "silu", "rope_theta": 10000.0}
    values = {"model_type": family, "architectures": [form.architecture], **found}
    try:
        back = _explicit(from_hub_config(values)[0])
    except ConfigError as error:
        raise ConfigError(f"the model has no form that the hub's {family} could have: {error}") from error
    for path, value in fields.items():
        if value != back[path] and path != "init" and not path.endswith("dropout"):
            raise ConfigError(
                f"{path} = {value!r} cannot be exported: a {family} of the hub has {back[path]!r}"
            )
    return values, family


def _activation(name: object) -> str:
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise ConfigError(f"activation_function = {name!r} is not supported{hint(name, ACTIVATIONS)}")
    return ACTIVATIONS[name]


def _explicit(config: ModelConfig) -> dict[str, Any]:
    """Every field by its path, with its value where the config leaves it to the rest."""
    fields = leaves(config.to_dict())
    shift = config.norm.kind == "layernorm" if config.norm.bias is None else config.norm.bias
    chosen = {"attention.n_kv_heads": config.attention.kv_heads, "feedforward.width": config.d_ff}
    return {**fields, **chosen, "norm.bias": shift}
