"""Weights are drawn with the promised spread, and shared parts get the same in every variant."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from blockproof.model.init import INITS, HeadProjection, OutputProjection
from blockproof.model.labels import cross_entropy
from blockproof.model.trace import attention_weights
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import D, T, copies, merged, same, tiny_config, tiny_ids, without_biases

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
            if isinstance(module, nn.Linear):
                assert 0.8 * bound < module.bias.abs().max() <= bound
                assert_spread(module.bias, bound / math.sqrt(3))


@pytest.mark.parametrize("kind", ["fused", "separate"])
def test_xavier_spreads(kind: str) -> None:
    """By the rows and columns of each matrix; queries, keys and values are a matrix each, grouped or not."""
    wide: dict[str, Any] = WIDE | {"n_layers": 2, "attention": {"kind": kind, "n_heads": 6, "n_kv_heads": 2}}
    model = built(init="xavier", **wide)
    for module in model.modules():
        parts = [module.weight] if isinstance(module, nn.Linear | nn.Embedding) else []
        if isinstance(module, HeadProjection):
            parts = [module.part(role) for role in module.rows]
            assert sum(len(matrix) for matrix in parts) == len(module.weight)
        for matrix in parts:
            assert_spread(matrix, math.sqrt(2 / sum(matrix.shape)))


@pytest.mark.parametrize("kind", ["fused", "separate"])
def test_xiong_is_xavier_with_uniform_attention(kind: str) -> None:
    """W_Q = W_K = 0: every score is 0, every weight 1 / (places seen)."""
    fields: dict[str, Any] = {"attention": {"kind": kind}, "position": "none"}
    model, plain = (built(init=init, **fields) for init in ("xiong", "xavier"))
    weights = attention_weights(model, tiny_ids())
    uniform = torch.ones(T, T).tril() / torch.arange(1, T + 1)[:, None]
    assert torch.allclose(weights, uniform.expand_as(weights), rtol=0, atol=1e-7)
    drawn = copies(plain)
    for name, value in copies(model).items():
        zeroed = ".query." in name or ".key." in name
        expected = torch.zeros_like(value) if zeroed else drawn[name].clone()
        if name.endswith("qkv.weight"):
            expected[: 2 * D] = 0.0
        assert torch.equal(value, expected), name


@pytest.mark.parametrize("init", INITS)
def test_norms_and_biases(init: str) -> None:
    parameters = copies(built(init=init))
    for name, value in parameters.items():
        if "norm" in name:
            assert (value == float(name.endswith("weight"))).all()
        elif name.endswith("bias"):
            assert (value == 0).all() == (init != "torch")


@pytest.mark.parametrize("init", ["gpt2", "xavier", "torch"])
def test_no_two_parts_are_drawn_alike(init: str) -> None:
    drawn = [value for name, value in copies(built(init=init)).items() if value.ndim == 2]
    assert len({tuple(value.flatten()[:8].div(value.std()).tolist()) for value in drawn}) == len(drawn)


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize(
    "change",
    [
        {"norm": {"placement": "post"}},
        {"norm": {"kind": "rmsnorm"}},
        {"residual": {"kind": "none"}},
        {"residual": {"kind": "gated"}},
        {"position": "none"},
        {"position": "rope"},
        {"feedforward": {"kind": "relu"}},
        without_biases(),
        {"tied": False},
    ],
)
def test_variants_share_the_weights_of_shared_parts(init: str, change: dict[str, Any]) -> None:
    base, variant = copies(built(init=init)), copies(built(**merged({"init": init}, change)))
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


@pytest.mark.parametrize("init", INITS)
def test_loss_starts_near_that_of_a_guess(init: str) -> None:
    model, vocab_size = built(init=init, **WIDE), WIDE["vocab_size"]
    ids, targets = (tiny_ids(batch=20, length=60, vocab_size=vocab_size) for _ in range(2))
    excess = cross_entropy(model(ids), targets).item() - math.log(vocab_size)
    assert abs(excess) < {"gpt2": 0.05, "torch": 0.25, "xavier": 1.0, "xiong": 1.0}[init]
