"""The names that the Hugging Face hub gives to the tensors of GPT-2 and LLaMA, beside ours.

GPT-2's linear layers are stored there as (in, out), transposed; LLaMA's queries, keys and values as three
matrices, which are the rows of our one.
"""

from typing import NamedTuple

HEAD = "lm_head.weight"
SPLIT = ("q", "k", "v")


class Family(NamedTuple):
    """Our names to the hub's.

    Attributes:
        prefix: of all names but the head's; a model that was stored without its head lacks it.
        buffers: a pattern of names of tensors that are worked out, and stored all the same.
        whole: names outside of blocks.
        block: names in block {i}; {part} stands for a tensor of each of ``SPLIT``.
        transposed: the ends of our names of what is stored transposed.
    """

    prefix: str
    buffers: str
    whole: dict[str, str]
    block: dict[str, str]
    transposed: frozenset[str] = frozenset()


def _linear(ours: str, theirs: str) -> dict[str, str]:
    return {f"blocks.{{i}}.{ours}.{kind}": f"{theirs}.{kind}" for kind in ("weight", "bias")}


GPT2 = Family(
    prefix="transformer.",
    buffers=r"\battn\.(masked_)?bias$",
    whole={
        "token.weight": "transformer.wte.weight",
        "position.table.weight": "transformer.wpe.weight",
        "norm.weight": "transformer.ln_f.weight",
        "norm.bias": "transformer.ln_f.bias",
        "head.weight": HEAD,
    },
    block={
        **_linear("attention.norm", "transformer.h.{i}.ln_1"),
        **_linear("attention.sublayer.qkv", "transformer.h.{i}.attn.c_attn"),
        **_linear("attention.sublayer.output", "transformer.h.{i}.attn.c_proj"),
        **_linear("feedforward.norm", "transformer.h.{i}.ln_2"),
        **_linear("feedforward.sublayer.up", "transformer.h.{i}.mlp.c_fc"),
        **_linear("feedforward.sublayer.down", "transformer.h.{i}.mlp.c_proj"),
    },
    transposed=frozenset({"qkv.weight", "output.weight", "up.weight", "down.weight"}),
)
LLAMA = Family(
    prefix="model.",
    buffers=r"\brotary_emb\.inv_freq$",
    whole={
        "token.weight": "model.embed_tokens.weight",
        "norm.weight": "model.norm.weight",
        "head.weight": HEAD,
    },
    block={
        "blocks.{i}.attention.norm.weight": "model.layers.{i}.input_layernorm.weight",
        **_linear("attention.sublayer.qkv", "model.layers.{i}.self_attn.{part}_proj"),
        **_linear("attention.sublayer.output", "model.layers.{i}.self_attn.o_proj"),
        "blocks.{i}.feedforward.norm.weight": "model.layers.{i}.post_attention_layernorm.weight",
        **_linear("feedforward.sublayer.gate", "model.layers.{i}.mlp.gate_proj"),
        **_linear("feedforward.sublayer.up", "model.layers.{i}.mlp.up_proj"),
        **_linear("feedforward.sublayer.down", "model.layers.{i}.mlp.down_proj"),
    },
)
FAMILIES = {"gpt2": GPT2, "llama": LLAMA}
