"""Attention against its formula: the fused kernel, the explicit path and a loop in NumPy agree."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from blockproof.model.attention import CausalSelfAttention
from blockproof.tests.helpers import B, D, H, T, randomise, tiny_config
from blockproof.tests.reference import attention, weights_of

Path = Callable[[CausalSelfAttention, Tensor], Tensor]

PATHS: dict[str, Path] = {
    "fused": lambda module, x: module(x),
    "explicit": lambda module, x: module.explicit(x)[0],
}
both_paths = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)


def make(scale: float = 0.5, dtype: torch.dtype = torch.float64, dropout: float = 0.0) -> CausalSelfAttention:
    return randomise(CausalSelfAttention(tiny_config(dropout=dropout)), scale).to(dtype).eval()


def vectors(length: int = T, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(B, length, D, dtype=dtype)


def gradients(module: CausalSelfAttention, path: Path, x: Tensor, direction: Tensor) -> list[Tensor]:
    """By the input and by every parameter."""
    x = x.detach().requires_grad_()
    return list(torch.autograd.grad((path(module, x) * direction).sum(), [x, *module.parameters()]))


@both_paths
@pytest.mark.parametrize("length", [1, 2, T])
def test_matches_the_reference(path: Path, length: int) -> None:
    """H = 3, d_head = 4: a scale of 1/sqrt(D) or a merge of heads in another order is far off."""
    module, x = make(), vectors(length)
    expected, weights = attention(x.numpy(), weights_of(module), H)
    torch.testing.assert_close(path(module, x), torch.from_numpy(expected), rtol=0, atol=1e-12)
    torch.testing.assert_close(module.explicit(x)[1], torch.from_numpy(weights), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("scale", [0.5, 2.0], ids=["usual", "strong"])
def test_fused_equals_explicit(dtype: torch.dtype, tolerance: float, scale: float) -> None:
    module, x, direction = make(scale, dtype), vectors(dtype=dtype), vectors(dtype=dtype)
    fused, explicit = (path(module, x) for path in PATHS.values())
    assert (fused - explicit).abs().max() <= tolerance * explicit.abs().max()
    for a, b in zip(*(gradients(module, path, x, direction) for path in PATHS.values()), strict=True):
        assert a.shape == b.shape
        assert (a - b).abs().max() <= tolerance * b.abs().max()
        assert b.abs().max() > 0


@pytest.mark.parametrize("scale", [0.5, 5.0], ids=["usual", "strong"])
def test_weights_are_a_distribution_over_the_past(scale: float) -> None:
    _, weights = make(scale).explicit(vectors())
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
    np.testing.assert_allclose(module.explicit(x)[1][0, :, 1, 1].detach(), expected, rtol=0, atol=1e-14)


@both_paths
def test_single_token_attends_to_itself(path: Path) -> None:
    module, x = make(), vectors(length=1)
    value = module.qkv(x)[..., 2 * D :]
    torch.testing.assert_close(path(module, x), module.output(value), rtol=0, atol=1e-14)


@both_paths
def test_dropout_is_off_in_eval(path: Path) -> None:
    with_dropout, x = make(dropout=0.5), vectors()
    without = make()
    without.load_state_dict(with_dropout.state_dict())
    assert torch.equal(path(with_dropout, x), path(without.train(), x))


@both_paths
def test_dropout_in_training_drops_or_doubles_a_weight(path: Path) -> None:
    """One token, so one weight, 1, a head: at a rate of 0.5 each head gives 0 or twice its value."""
    module, x = make(dropout=0.5).train(), torch.ones(200, 1, D, dtype=torch.float64)
    with torch.no_grad():
        module.output.weight.copy_(torch.eye(D))
        module.output.bias.zero_()
    factors = (path(module, x) / module.qkv(x)[..., 2 * D :]).unflatten(-1, (H, -1))
    torch.testing.assert_close(factors, factors[..., :1].round().expand_as(factors), rtol=0, atol=1e-12)
    assert set(factors.round().unique().tolist()) == {0.0, 2.0}
    assert 0.4 < (factors > 1).double().mean() < 0.6  # 600 draws: ±5 standard deviations
    np.testing.assert_array_equal(module.explicit(x)[1].detach(), 1.0)  # told before dropout
