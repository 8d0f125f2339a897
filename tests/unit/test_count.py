"""The counts agree with built models, with the published GPT-2 sizes, and with the formula's error."""

from typing import Any

import pytest

from blockproof.model.config import ModelConfig
from blockproof.model.count import PARTS, count
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import D, N, T, V, tiny_config

GPT2 = {
    (12, 768, 12): 124_439_808,
    (24, 1024, 16): 354_823_168,
    (36, 1280, 20): 774_030_080,
    (48, 1600, 25): 1_557_611_200,
}


def gpt2(n_layers: int = 12, d_model: int = 768, n_heads: int = 12, **overrides: Any) -> ModelConfig:
    fields = {
        "vocab_size": 50257,
        "context": 1024,
        "n_layers": n_layers,
        "d_model": d_model,
        "n_heads": n_heads,
    }
    return ModelConfig(**fields | overrides)


@pytest.mark.parametrize(("size", "total"), GPT2.items(), ids=map(str, GPT2))
def test_published_sizes(size: tuple[int, int, int], total: int) -> None:
    assert count(gpt2(*size)).total == total


def test_savings_of_leaving_biases_out() -> None:
    full, bare = count(gpt2()), count(gpt2(bias=False))
    assert full.total - bare.total == 82_944
    without_shifts = count(gpt2(bias=False, norm_bias=False))
    assert full.blocks - without_shifts.blocks == 101_376
    assert full.total - without_shifts.total == 102_144  # the final norm's shift too
    assert without_shifts.blocks - without_shifts.formula == 2 * 12 * 768  # the gains remain


@pytest.mark.parametrize("size", GPT2)
def test_error_of_the_formula(size: tuple[int, int, int]) -> None:
    counted, d_model = count(gpt2(*size)), size[1]
    assert counted.formula == 12 * size[0] * d_model**2
    assert counted.formula_error == pytest.approx(-13 / (12 * d_model), rel=1e-12)
    assert counted.blocks * 12 * d_model == counted.formula * (12 * d_model + 13)  # exactly


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"placement": "post"},
        {"residual": "none"},
        {"position": "none"},
        {"bias": False},
        {"norm_bias": False},
        {"tied": False},
    ],
)
def test_equals_a_built_model(overrides: dict[str, Any]) -> None:
    config = tiny_config(**overrides)
    model = Transformer(config)
    counted = count(config)
    assert counted.total == sum(parameter.numel() for parameter in model.parameters())
    assert counted.blocks == sum(parameter.numel() for parameter in model.blocks.parameters())
    assert not any(parameter.is_meta for parameter in model.parameters())


def test_parts_by_hand() -> None:
    assert count(tiny_config()).parts == {
        "token embedding": V * D,
        "position": T * D,
        "attention": N * (4 * D * D + 4 * D),
        "feed-forward": N * (8 * D * D + 5 * D),
        "norms": (2 * N + 1) * 2 * D,
        "head": 0,
    }
    assert tuple(count(tiny_config(position="none")).parts) == PARTS
    assert count(tiny_config(position="none")).parts["position"] == 0
    assert count(tiny_config(tied=False)).parts == count(tiny_config()).parts | {"head": V * D}
