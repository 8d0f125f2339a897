"""Hugging Face's GPT-2 and LLaMA at small sizes, and the same models by our config."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from blockproof.model.config import ModelConfig
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import merged, randomise

transformers = pytest.importorskip(
    "transformers", reason="parity needs Hugging Face's models: pip install transformers"
)

V, CONTEXT, D, LAYERS, HEADS, GROUPS, WIDTH = 29, 11, 24, 3, 6, 2, 40
SIZES: dict[str, Any] = {"vocab_size": V, "context": CONTEXT, "d_model": D, "n_layers": LAYERS}
GPT2 = SIZES | {"attention": {"n_heads": HEADS}, "feedforward": {"kind": "gelu_tanh"}}
LLAMA = SIZES | {
    "position": "rope",
    "tied": False,
    "attention": {"n_heads": HEADS, "n_kv_heads": GROUPS, "qkv_bias": False, "output_bias": False},
    "feedforward": {"kind": "swiglu", "width": WIDTH, "bias": False},
    "norm": {"kind": "rmsnorm", "eps": 1e-4},
}
BIASES = {"attention": {"qkv_bias": True, "output_bias": True}, "feedforward": {"bias": True}}
# By name: the family, our fields, and what their config says besides.
MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "gpt2": ("gpt2", GPT2, {}),
    "gpt2, untied, of another width": (
        "gpt2",
        merged(GPT2, {"tied": False, "feedforward": {"kind": "gelu", "width": WIDTH}}),
        {"tie_word_embeddings": False, "activation_function": "gelu", "n_inner": WIDTH},
    ),
    "llama": ("llama", LLAMA, {}),
    "llama, tied": ("llama", LLAMA | {"tied": True}, {"tie_word_embeddings": True}),
    "llama, with biases": ("llama", merged(LLAMA, BIASES), {"attention_bias": True, "mlp_bias": True}),
}
models = pytest.mark.parametrize("name", MODELS)


def family_of(name: str) -> str:
    return MODELS[name][0]


def config_of(name: str) -> ModelConfig:
    return ModelConfig.from_dict(MODELS[name][1])


def ours(name: str) -> Transformer:
    return randomise(Transformer(config_of(name)), 0.2).double().eval()


def theirs(name: str) -> Any:
    family, _, special = MODELS[name]
    if family == "gpt2":
        sizes = {"vocab_size": V, "n_positions": CONTEXT, "n_embd": D, "n_layer": LAYERS, "n_head": HEADS}
        rates = dict.fromkeys(("embd_pdrop", "attn_pdrop", "resid_pdrop"), 0.0)
        ends = dict.fromkeys(("bos_token_id", "eos_token_id"))  # theirs would be outside of the vocabulary
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **rates, **ends, **special))
    else:
        config = transformers.LlamaConfig(
            vocab_size=V, max_position_embeddings=CONTEXT, hidden_size=D, num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, num_key_value_heads=GROUPS, intermediate_size=WIDTH, rms_norm_eps=1e-4,
            **special,
        )  # fmt: skip
        model = transformers.LlamaForCausalLM(config)
    return randomise(model, 0.2).double().eval()


def tokens() -> Tensor:
    """Ids (3, CONTEXT)."""
    return torch.randint(V, (3, CONTEXT))


class Wide:
    """torch, with float64 wherever float32 is asked for by name: their norm works in float32 else."""

    float32 = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextmanager
def in_float64() -> Iterator[None]:
    """Their code with its casts to float32 lifted, so that nothing but rounding is left to differ."""
    from transformers.models.llama import modeling_llama  # noqa: PLC0415 (only where there is transformers)

    def rotary(self: Any, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        d = D // HEADS
        inverse = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        angles = (position_ids[..., None] * inverse).repeat(1, 1, 2)
        return angles.cos(), angles.sin()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modeling_llama, "torch", Wide())
        patch.setattr(modeling_llama.LlamaRotaryEmbedding, "forward", rotary)
        yield
