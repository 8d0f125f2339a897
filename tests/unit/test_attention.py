"""Attention against its formula: the fused kernel, the explicit path and a loop in NumPy agree."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from blockproof.model.attention import ATTENTIONS, CausalSelfAttention, FusedHeads, SeparateHeads
from blockproof.model.config import ModelConfig
from blockproof.model.position import POSITIONS, Position
from blockproof.model.schema import ConfigError
from blockproof.tests.helpers import B, D, H, T, randomise, tiny_config
from blockproof.tests.oracle.attention import attention
from blockproof.tests.oracle.transformer import lacking
from blockproof.tests.oracle.weights import weights_of

Path = Callable[[CausalSelfAttention, Tensor, Position], Tensor]

PATHS: dict[str, Path] = {
    "fused": lambda module, x, position: module(x, position),
    "explicit": lambda module, x, position: module.explicit(x, position)[0],
}
both_paths = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
each_kind = pytest.mark.parametrize("kind", [kind for kind in ATTENTIONS if kind != "none"])
each_position = pytest.mark.parametrize("position", POSITIONS)
NOWHERE = Position(tiny_config())  # tells no places


def config_of(kind: str = "fused", position: str = "none", **fields: Any) -> ModelConfig:
    return tiny_config(position=position, attention={"kind": kind} | fields)


def built(config: ModelConfig, scale: float = 0.5, dtype: torch.dtype = torch.float64) -> CausalSelfAttention:
    variant = ATTENTIONS[config.attention.kind]
    assert variant is not None
    return randomise(variant(config), scale).to(dtype).eval()


def told(config: ModelConfig, scale: float = 0.5) -> Position:
    return randomise(POSITIONS[config.position](config), scale).double()


def make(scale: float = 0.5, dtype: torch.dtype = torch.float64, dropout: float = 0.0) -> FusedHeads:
    module = built(config_of(dropout=dropout), scale, dtype)
    assert isinstance(module, FusedHeads)
    return module


def vectors(length: int = T, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(B, length, D, dtype=dtype)


def gradients(
    module: CausalSelfAttention, path: Path, x: Tensor, direction: Tensor, position: Position = NOWHERE
) -> list[Tensor]:
    """By the input and by every parameter, the position's included."""
    x = x.detach().requires_grad_()
    parameters = [*module.parameters(), *position.parameters()]
    y = path(module, x, position)
    return list(
        torch.autograd.grad(
            (y * direction).sum(), [x, *parameters], materialize_grads=True, allow_unused=True
        )
    )


@both_paths
@each_kind
@each_position
@pytest.mark.parametrize("n_kv_heads", [None, 1])
def test_matches_the_reference(path: Path, kind: str, position: str, n_kv_heads: int | None) -> None:
    """H = 3, d_head = 4: a scale of 1/sqrt(D) or a merge of heads in another order is far off."""
    config = config_of(kind, position, n_kv_heads=n_kv_heads)
    if reason := lacking(config.to_dict()):
        pytest.skip(reason)
    module, places = built(config), told(config)
    for length in (1, 2, T):
        x = vectors(length)
        expected, weights = attention(x.numpy(), weights_of(module), config.to_dict(), weights_of(places))
        torch.testing.assert_close(path(module, x, places), torch.from_numpy(expected), rtol=0, atol=1e-12)
        seen = module.explicit(x, places)[1]
        torch.testing.assert_close(seen, torch.from_numpy(weights), rtol=0, atol=1e-12)


@both_paths
@each_kind
@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
def test_neighbouring_queries_share_a_group(path: Path, kind: str, n_kv_heads: int) -> None:
    """Six heads, so that two groups of three differ from three groups of two."""
    config = config_of(kind, n_heads=6, n_kv_heads=n_kv_heads)
    module, x = built(config), vectors()
    expected = attention(x.numpy(), weights_of(module), config.to_dict(), {})[0]
    torch.testing.assert_close(path(module, x, NOWHERE), torch.from_numpy(expected), rtol=0, atol=1e-12)


@both_paths
@each_position
@pytest.mark.parametrize("n_kv_heads", [1, 3])
def test_separate_heads_equal_the_fused_matrix(path: Path, position: str, n_kv_heads: int) -> None:
    """With its rows as their weights: outputs, and gradients by the input."""
    fused, separate = (
        built(config_of(kind, position, n_kv_heads=n_kv_heads)) for kind in ("fused", "separate")
    )
    assert isinstance(fused, FusedHeads)
    assert isinstance(separate, SeparateHeads)
    heads = [*separate.query, *separate.key, *separate.value]
    with torch.no_grad():
        for head, weight, bias in zip(
            heads, fused.qkv.weight.split(D // H), fused.qkv.bias.split(D // H), strict=True
        ):
            head.weight.copy_(weight)
            head.bias.copy_(bias)
    separate.output.load_state_dict(fused.output.state_dict())
    x, direction, places = vectors(), vectors(), told(config_of(position=position))
    torch.testing.assert_close(path(separate, x, places), path(fused, x, places), rtol=0, atol=1e-13)
    a, b = (gradients(module, path, x, direction, places)[0] for module in (fused, separate))
    torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
    assert sum(p.numel() for p in separate.parameters()) == sum(p.numel() for p in fused.parameters())


@each_position
@pytest.mark.parametrize("n_kv_heads", [1, 3])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("scale", [0.5, 2.0], ids=["usual", "strong"])
def test_fused_equals_explicit(
    position: str, n_kv_heads: int, dtype: torch.dtype, tolerance: float, scale: float
) -> None:
    config = config_of("fused", position, n_kv_heads=n_kv_heads)
    module, places = built(config, scale, dtype), told(config, scale).to(dtype)
    x, direction = vectors(dtype=dtype), vectors(dtype=dtype)
    fused, explicit = (path(module, x, places) for path in PATHS.values())
    assert (fused - explicit).abs().max() <= tolerance * explicit.abs().max()
    both = (gradients(module, path, x, direction, places) for path in PATHS.values())
    for a, b in zip(*both, strict=True):
        assert a.shape == b.shape
        assert (a - b).abs().max() <= tolerance * max(b.abs().max(), 1e-300)


@each_position
@pytest.mark.parametrize("scale", [0.5, 5.0], ids=["usual", "strong"])
def test_weights_are_a_distribution_over_the_past(position: str, scale: float) -> None:
    config = config_of(position=position)
    _, weights = built(config, scale).explicit(vectors(), told(config, scale))
    assert weights.shape == (B, H, T, T)
    assert weights.triu(diagonal=1).abs().max() == 0.0
    assert weights.min() >= 0.0
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, T, dtype=torch.float64), rtol=0, atol=1e-14)


def test_scale_is_that_of_a_head() -> None:
    """Queries and keys all 1: with a score of d_head / sqrt(d_head) for one key and 0 for the other."""
    module, d_head = make(), D // H
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
        module.qkv.bias[:D] = 1.0
        module.qkv.weight[D : 2 * D, 0] = 1.0
    x = torch.zeros(1, 2, D, dtype=torch.float64)
    x[0, 1, 0] = 1.0
    expected = 1 / (1 + math.exp(-d_head / math.sqrt(d_head)))
    wrong = 1 / (1 + math.exp(-d_head / math.sqrt(D)))
    assert abs(expected - wrong) > 0.05
    np.testing.assert_allclose(
        module.explicit(x, NOWHERE)[1][0, :, 1, 1].detach(), expected, rtol=0, atol=1e-14
    )


@both_paths
def test_single_token_attends_to_itself(path: Path) -> None:
    module, x = make(), vectors(length=1)
    value = module.qkv(x)[..., 2 * D :]
    torch.testing.assert_close(path(module, x, NOWHERE), module.output(value), rtol=0, atol=1e-14)


@both_paths
def test_dropout_is_off_in_eval(path: Path) -> None:
    with_dropout, x = make(dropout=0.5), vectors()
    without = make()
    without.load_state_dict(with_dropout.state_dict())
    assert torch.equal(path(with_dropout, x, NOWHERE), path(without.train(), x, NOWHERE))


@both_paths
def test_dropout_in_training_drops_or_doubles_a_weight(path: Path) -> None:
    """One token, so one weight, 1, a head: at a rate of 0.5 each head gives 0 or twice its value."""
    module, x = make(dropout=0.5).train(), torch.ones(200, 1, D, dtype=torch.float64)
    with torch.no_grad():
        module.output.weight.copy_(torch.eye(D))
        module.output.bias.zero_()
    factors = (path(module, x, NOWHERE) / module.qkv(x)[..., 2 * D :]).unflatten(-1, (H, -1))
    torch.testing.assert_close(factors, factors[..., :1].round().expand_as(factors), rtol=0, atol=1e-12)
    assert set(factors.round().unique().tolist()) == {0.0, 2.0}
    assert 0.4 < (factors > 1).double().mean() < 0.6  # 600 draws: ±5 standard deviations
    np.testing.assert_array_equal(module.explicit(x, NOWHERE)[1].detach(), 1.0)  # told before dropout


@both_paths
@each_position
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_runs_in_half_precision(path: Path, position: str, dtype: torch.dtype) -> None:
    """No fill value that the dtype does not hold, no table that widens it, and near the exact result."""
    config = config_of(position=position)
    module, places, x = built(config), told(config), vectors().to(dtype).double()
    narrow = [value.to(dtype).double() for value in (*module.parameters(), *places.parameters())]
    with torch.no_grad():
        for parameter, value in zip((*module.parameters(), *places.parameters()), narrow, strict=True):
            parameter.copy_(value)
    exact = path(module, x, places)
    near = path(module.to(dtype), x.to(dtype), places.to(dtype))
    assert near.dtype == dtype
    assert (near.double() - exact).abs().max() < 16 * torch.finfo(dtype).eps * exact.abs().max()


@both_paths
def test_output_dropout_acts_behind_the_projection(path: Path) -> None:
    module, x = built(config_of(output_dropout=0.5)), vectors()
    quiet = path(module, x, NOWHERE)
    factors = path(module.train(), x, NOWHERE) / quiet
    assert set(factors.round().unique().tolist()) == {0.0, 2.0}
    assert 0.35 < (factors > 1).double().mean() < 0.65  # 420 draws: ±6 standard deviations


@pytest.mark.parametrize("kind", ["fused", "separate"])
@pytest.mark.parametrize(("qkv_bias", "output_bias"), [(True, False), (False, True)])
def test_biases_are_chosen_apart(kind: str, qkv_bias: bool, output_bias: bool) -> None:
    module = built(config_of(kind, qkv_bias=qkv_bias, output_bias=output_bias))
    biased = {name.split(".")[0] for name, _ in module.named_parameters() if name.endswith("bias")}
    made = {"qkv"} if kind == "fused" else {"query", "key", "value"}
    assert biased == (made if qkv_bias else {"output"})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"n_heads": 5}, "d_model 12 cannot be divided among n_heads 5"),
        ({"n_heads": 6, "n_kv_heads": 4}, "n_heads 6 cannot share n_kv_heads 4 evenly"),
        ({"n_heads": 3, "n_kv_heads": 6}, "n_heads 3 cannot share n_kv_heads 6 evenly"),
        ({"kind": "none", "dropout": 0.1}, "AttentionConfig.dropout = 0.1 would change nothing"),
        ({"kind": "none", "n_heads": 3}, "AttentionConfig.n_heads = 3 would change nothing"),
    ],
)
def test_refuses(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_config(attention=fields)
