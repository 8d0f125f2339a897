"""The counts agree with built models, with the published sizes, and with the formula's error."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from blockproof.model.config import ModelConfig, preset, presets
from blockproof.model.count import PARTS, cost, count, on_meta
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import D, H, N, T, V, merged, tiny_config, without_biases

# Parameters as published or, for GPT-3, as its stated sizes give them.
PUBLISHED = {
    "gpt2-124m": 124_439_808,
    "gpt2-355m": 354_823_168,
    "gpt2-774m": 774_030_080,
    "gpt2-1558m": 1_557_611_200,
    "gpt3-175b": 174_604_259_328,
    "llama-7b": 6_738_415_616,
    "llama-13b": 13_015_864_320,
    "llama-65b": 65_285_660_672,
    "llama2-70b": 68_976_648_192,
}
GPT = [name for name in PUBLISHED if name.startswith("gpt")]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sizes(name: str) -> None:
    assert count(preset(name)).total == PUBLISHED[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_forms(name: str) -> None:
    """The closed forms: GPT's tied with biases, LLaMA's untied, gated and without."""
    c = preset(name)
    d, layers = c.d_model, c.n_layers
    if name in GPT:
        expected = c.vocab_size * d + c.context * d + layers * (12 * d * d + 13 * d) + 2 * d
    else:
        expected = 2 * c.vocab_size * d + layers * (2 * d * d + 2 * d * c.d_kv + 3 * d * c.d_ff + 2 * d) + d
    assert count(c).total == expected


def test_every_preset_is_published_or_tiny() -> None:
    assert set(presets()) == {*PUBLISHED, "tiny"}


def gpt2(**overrides: Any) -> ModelConfig:
    return ModelConfig.from_dict(merged(preset("gpt2-124m").to_dict(), overrides))


def test_savings_of_leaving_biases_out() -> None:
    full, bare = count(gpt2()), count(gpt2(**without_biases()))
    assert full.total - bare.total == 82_944
    without_shifts = count(gpt2(**merged(without_biases(), {"norm": {"bias": False}})))
    assert full.blocks - without_shifts.blocks == 101_376
    assert full.total - without_shifts.total == 102_144  # the final norm's shift too
    assert without_shifts.blocks - without_shifts.formula == 2 * 12 * 768  # the gains remain


@pytest.mark.parametrize("name", GPT)
def test_error_of_the_formula(name: str) -> None:
    config, counted = preset(name), count(preset(name))
    D = config.d_model
    assert counted.formula == 12 * config.n_layers * D**2
    assert counted.blocks * 12 * D == counted.formula * (12 * D + 13)  # exactly
    assert counted.formula_error == pytest.approx(-13 / (12 * D + 13), rel=1e-12)
    assert counted.total_error == pytest.approx(counted.formula / PUBLISHED[name] - 1, rel=1e-12)


CHANGES: list[dict[str, Any]] = [
    {},
    {"norm": {"placement": "sandwich", "kind": "rmsnorm"}},
    {"norm": {"placement": "none", "final": False}},
    {"residual": {"kind": "gated"}},
    {"position": "t5"},
    {"position": "none", "attention": {"kind": "none"}},
    {"feedforward": {"kind": "none"}},
    {"feedforward": {"kind": "swiglu", "width": 20}},
    {"attention": {"kind": "separate", "n_kv_heads": 1}},
    without_biases(),
    {"tied": False, "head_bias": True},
]


@pytest.mark.parametrize("overrides", CHANGES, ids=str)
def test_equals_a_built_model(overrides: dict[str, Any]) -> None:
    config = tiny_config(**overrides)
    model = Transformer(config)
    counted = count(config)
    assert counted.total == sum(parameter.numel() for parameter in model.parameters())
    assert counted.blocks == sum(parameter.numel() for parameter in model.blocks.parameters())
    assert not any(parameter.is_meta for parameter in model.parameters())
    assert tuple(counted.parts) == PARTS


def parts(**overrides: Any) -> dict[str, int]:
    return count(tiny_config(**overrides)).parts


def test_parts_by_hand() -> None:
    usual = {
        "token embedding": V * D,
        "position": T * D,
        "attention": N * (4 * D * D + 4 * D),
        "feed-forward": N * (8 * D * D + 5 * D),
        "norms": (2 * N + 1) * 2 * D,
        "residuals": 0,
        "head": 0,
    }
    assert parts() == usual
    assert parts(position="rope") == usual | {"position": 0}
    assert parts(position="t5") == usual | {"position": 32 * H}
    assert parts(tied=False) == usual | {"head": V * D}
    assert parts(head_bias=True) == usual | {"head": V}
    assert parts(residual={"kind": "gated"}) == usual | {"residuals": 2 * N}
    assert parts(norm={"kind": "rmsnorm"}) == usual | {"norms": (2 * N + 1) * D}
    assert parts(norm={"placement": "sandwich"}) == usual | {"norms": (4 * N + 1) * 2 * D}
    assert parts(norm={"placement": "none"}) == usual | {"norms": 2 * D}
    assert parts(norm={"final": False}) == usual | {"norms": 4 * N * D}
    assert parts(attention={"kind": "separate"}) == usual
    assert parts(attention={"kind": "none"}) == usual | {"attention": 0, "norms": (N + 1) * 2 * D}
    assert parts(feedforward={"kind": "none"}) == usual | {"feed-forward": 0, "norms": (N + 1) * 2 * D}
    grouped = N * (2 * D * D + 2 * D * D // 3 + 2 * D + 2 * D // 3)
    assert parts(attention={"n_kv_heads": 1}) == usual | {"attention": grouped}


@pytest.mark.parametrize("name", presets())
def test_operations_are_those_that_torch_counts(name: str) -> None:
    """One window of the full context, on the meta device; two blocks stand for all."""
    config = ModelConfig.from_dict(preset(name).to_dict() | {"n_layers": 2})
    assert cost(count(config)).forward * config.context == operations(config)


@pytest.mark.parametrize("overrides", CHANGES, ids=str)
def test_operations_of_every_variant(overrides: dict[str, Any]) -> None:
    config = tiny_config(**overrides)
    assert cost(count(config)).forward * T == operations(config)


def operations(config: ModelConfig, training: bool = False) -> int:
    """Of one window, by the formula of attention: torch does not count the fused kernel of a CPU."""
    with torch.device("meta"):
        ids = torch.zeros(1, config.context, dtype=torch.int64)
    with FlopCounterMode(display=False) as counter:
        logits = on_meta(config)(ids)
        if training:
            logits.sum().backward()
    return counter.get_total_flops()


@pytest.mark.parametrize("overrides", CHANGES, ids=str)
def test_training_takes_three_forward_passes(overrides: dict[str, Any]) -> None:
    """Two products of the backward pass for each of the forward: by weight and by input."""
    config = tiny_config(**overrides)
    takes = cost(count(config))
    assert takes.training == 3 * takes.forward
    assert takes.training * T == operations(config, training=True)


def test_memory_by_hand() -> None:
    takes = cost(count(tiny_config(attention={"n_kv_heads": 1})))
    total = count(tiny_config(attention={"n_kv_heads": 1})).total
    assert (takes.weights, takes.adam) == (4 * total, 16 * total)
    assert takes.cache == N * 2 * T * (D // H) * 4  # keys and values, one head of width 4, float32
    assert cost(count(tiny_config(attention={"kind": "none"}))).cache == 0


def test_counting_draws_nothing() -> None:
    before = torch.get_rng_state()
    count(preset("tiny"))
    assert torch.equal(torch.get_rng_state(), before)
