"""Weights are drawn with the promised spread, and shared parts get the same in every variant."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from blockproof.model.init import OutputProjection
from blockproof.model.labels import cross_entropy
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import copies, same, tiny_config, tiny_ids

WIDE = {"d_model": 96, "n_layers": 8, "vocab_size": 131, "context": 64}


def built(seed: int = 0, **overrides: Any) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(tiny_config(**overrides))


def assert_spread(x: Tensor, std: float) -> None:
    """Mean 0 and the given deviation, within 5 standard errors of each."""
    n = x.numel()
    assert abs(x.mean()) < 5 * std / math.sqrt(n)
    assert abs(x.std() / std - 1) < 5 / math.sqrt(2 * n)


def test_gpt2_spreads() -> None:
    model = built(**WIDE)
    seen = []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            written = name.endswith(("attention.sublayer.output", "feedforward.sublayer.down"))
            assert_spread(module.weight, 0.02 / 4 if written else 0.02)  # sqrt(2 · 8 layers) = 4
            assert written == isinstance(module, OutputProjection)
            seen.append(written)
    assert seen.count(True) == 2 * 8
    assert len(seen) == 2 + 4 * 8


def test_torch_spreads() -> None:
    model = built(init="torch", **WIDE)
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            bound = 1 / math.sqrt(module.weight.shape[1])
            assert 0.99 * bound < module.weight.abs().max() <= bound
            assert_spread(module.weight, bound / math.sqrt(3))
            assert not isinstance(module, nn.Linear) or 0.8 * bound < module.bias.abs().max() <= bound


@pytest.mark.parametrize("init", ["gpt2", "torch"])
def test_norms_and_biases(init: str) -> None:
    parameters = copies(built(init=init))
    for name, value in parameters.items():
        if "norm" in name:
            assert (value == float(name.endswith("weight"))).all()
        elif name.endswith("bias"):
            assert (value == 0).all() == (init == "gpt2")


@pytest.mark.parametrize("init", ["gpt2", "torch"])
def test_no_two_parts_are_drawn_alike(init: str) -> None:
    drawn = [value for name, value in copies(built(init=init)).items() if value.ndim == 2]
    assert len({tuple(value.flatten()[:8].div(value.std()).tolist()) for value in drawn}) == len(drawn)


@pytest.mark.parametrize("init", ["gpt2", "torch"])
@pytest.mark.parametrize(
    "change",
    [{"placement": "post"}, {"residual": "none"}, {"position": "none"}, {"bias": False}, {"tied": False}],
)
def test_variants_share_the_weights_of_shared_parts(init: str, change: dict[str, Any]) -> None:
    base, variant = copies(built(init=init)), copies(built(init=init, **change))
    shared = base.keys() & variant.keys()
    assert any("qkv.weight" in name for name in shared)
    assert "token.weight" in shared
    assert all(torch.equal(base[name], variant[name]) for name in shared)


def test_more_layers_share_all_but_the_scaled_projections() -> None:
    base, deeper = copies(built(n_layers=2)), copies(built(n_layers=8))
    for name, value in base.items():
        shrunk = 2.0 if name.endswith(("output.weight", "down.weight")) else 1.0  # sqrt(8 / 2)
        torch.testing.assert_close(value, deeper[name] * shrunk, rtol=1e-6, atol=0)


def test_seeds_decide() -> None:
    assert same(copies(built(1)), copies(built(1)))
    first, second = copies(built(1)), copies(built(2))
    assert not any(torch.equal(first[name], second[name]) for name in first if first[name].ndim == 2)


def test_building_again_without_reseeding_draws_anew() -> None:
    torch.manual_seed(0)
    assert not same(copies(Transformer(tiny_config())), copies(Transformer(tiny_config())))


@pytest.mark.parametrize("init", ["gpt2", "torch"])
def test_loss_starts_near_that_of_a_guess(init: str) -> None:
    model, vocab_size = built(init=init, **WIDE), WIDE["vocab_size"]
    ids, targets = (tiny_ids(batch=20, length=60, vocab_size=vocab_size) for _ in range(2))
    excess = cross_entropy(model(ids), targets).item() - math.log(vocab_size)
    assert abs(excess) < {"gpt2": 0.05, "torch": 0.25}[init]
