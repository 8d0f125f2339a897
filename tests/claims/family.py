"""Claims about families of models: what a block weighs, what makes a LLaMA."""

from typing import Any

import torch

from blockproof.model.config import ModelConfig, preset
from blockproof.model.count import count
from blockproof.model.nested import with_values
from blockproof.model.transformer import Transformer
from blockproof.tests.claims.claim import FAILS, HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, rms, verdict
from blockproof.tests.helpers import T, V, randomise, tiny_ids

NEAR, MATTERS, CHARACTERS = 0.01, 0.1, 65
SMALL = {"vocab_size": V, "context": T, "d_model": 24, "n_layers": 2, "attention.n_heads": 4}
SWAPS: dict[str, dict[str, Any]] = {
    "two": {"feedforward.kind": "silu", "norm.kind": "rmsnorm"},
    "gate": {"feedforward.kind": "swiglu", "feedforward.width": 64},
    "bias": {"attention.qkv_bias": False, "attention.output_bias": False, "feedforward.bias": False},
    "rope": {"position": "rope"},
    "head": {"tied": False},
    "groups": {"attention.n_kv_heads": 2},
}


def shares() -> Found:
    """Parameters of the sub-layers of GPT-2 small, by the square of the width."""
    counted = count(preset("gpt2-124m"))
    unit = counted.config.n_layers * counted.config.d_model**2
    attention, feedforward = counted.parts["attention"] / unit, counted.parts["feed-forward"] / unit
    block = counted.blocks / unit
    near = all(
        abs(found / told - 1) < NEAR for found, told in ((attention, 4), (feedforward, 8), (block, 12))
    )
    return Found(
        verdict(near),
        "In GPT-2 small attention has {attention:.3f}, the feed-forward {feedforward:.3f} and a block "
        "{block:.3f} times the square of the width, {width}, biases and norms included.",
        {
            **{"attention": attention, "feedforward": feedforward, "block": block},
            "width": counted.config.d_model,
        },
    )


def vocabulary() -> Found:
    """The share of the token embedding in one stack, with two vocabularies."""
    base = preset("gpt2-124m")
    few = ModelConfig.from_dict({**base.to_dict(), "vocab_size": CHARACTERS})
    small, large = (count(config).parts["token embedding"] / count(config).total for config in (few, base))
    return Found(
        verdict(small < NEAR and large > MATTERS),
        "In the stack of GPT-2 small the token embedding holds {large:.1f} % of the parameters with its "
        "{many} tokens, and {small:.2f} % with {few} characters.",
        {"large": 100 * large, "small": 100 * small, "many": base.vocab_size, "few": CHARACTERS},
    )


def llama() -> ModelConfig:
    """LLaMA-2-70B's config, at a size that fits here."""
    return ModelConfig.from_dict(
        with_values(preset("llama2-70b").to_dict(), {**SMALL, **SWAPS["gate"], **SWAPS["groups"]})
    )


def gpt(*swaps: str) -> ModelConfig:
    """GPT-2's config at that size, with some parts swapped."""
    changes = dict(SMALL)
    for swap in swaps:
        changes |= SWAPS[swap]
    own = preset("gpt2-124m").to_dict()
    quiet = {"embedding_dropout": 0.0, "attention.dropout": 0.0, "attention.output_dropout": 0.0}
    eps = {"norm.eps": llama().norm.eps}
    return ModelConfig.from_dict(with_values(own, {**quiet, "feedforward.dropout": 0.0, **eps, **changes}))


def loaded(config: ModelConfig, source: Transformer) -> tuple[int, int, float]:
    """Give a model the weights that fit: tensors without a place, without a source, how far off its logits are."""
    torch.manual_seed(1)
    model, theirs = randomise(Transformer(config)).double().eval(), source.state_dict()
    ours = model.state_dict()
    fitting = {name: w for name, w in theirs.items() if name in ours and ours[name].shape == w.shape}
    model.load_state_dict(fitting, strict=False)
    ids = tiny_ids()
    with torch.no_grad():
        off = rms(model(ids) - source(ids)) / rms(source(ids))
    return len(theirs) - len(fitting), len(ours) - len(fitting), off


def form_of_llama() -> Transformer:
    """With weights of its own."""
    return randomise(Transformer(llama())).double().eval()


def two_swaps() -> Found:
    """Weights of the form of LLaMA are loaded into a skeleton that has the two swaps alone."""
    source = form_of_llama()
    lacking, idle, off = loaded(gpt("two"), source)
    return Found(
        verdict((lacking, idle, off) == (0, 0, 0.0)),
        "Of the {tensors} tensors of a model in the form of LLaMA, with grouped keys and values, {lacking} "
        "find no place in a GPT with these two swaps, {idle} of its own get no weight, and its logits are "
        "off by {off:.2f} of their root mean square.",
        {"tensors": len(source.state_dict()), "lacking": lacking, "idle": idle, "off": off},
    )


def all_swaps() -> Found:
    """All of them, then each one left out in turn."""
    source = form_of_llama()
    lacking, idle, off = loaded(gpt(*SWAPS), source)
    without = {out: loaded(gpt(*(swap for swap in SWAPS if swap != out)), source) for out in SWAPS}
    unturned = loaded(ModelConfig.from_dict({**llama().to_dict(), "position": "none"}), source)
    needed = all(each[2] > EXACT for each in without.values())
    return Found(
        verdict((lacking, idle, off) == (0, 0, 0.0) and needed),
        "With all of these, {lacking} tensors find no place, {idle} get no weight, and logits are off by "
        "{off:g}. With one left out they are off by: the gate {gate:.2f}, biases {bias:.2f}, RoPE "
        "{rope:.2f}, the head {head:.2f}, groups {groups:.2f}. Names do not tell: with RoPE merely gone, "
        "{unnamed} tensors miss a place, and logits are off by {unturned:.2f}.",
        {
            **{"lacking": lacking, "idle": idle, "off": off, "unnamed": unturned[0], "unturned": unturned[2]},
            **{swap: without[swap][2] for swap in SWAPS if swap != "two"},
        },
    )


CLAIMS = (
    Claim("A10", "SiLU for GELU and RMSNorm for LayerNorm turn a GPT into a LLaMA", FAILS, two_swaps),
    Claim(
        "A10, missing",
        "what is missing: a gate, RoPE, no biases, a head of its own, grouped keys and values",
        HOLDS,
        all_swaps,
    ),
    Claim("C5", "attention has about 4D² parameters, the feed-forward 8D², a block 12D²", HOLDS, shares),
    Claim("C5, vocabulary", "a large vocabulary makes the embedding matter", HOLDS, vocabulary),
)
