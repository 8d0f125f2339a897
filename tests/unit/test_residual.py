"""Residual and placement: what is carried past a sub-layer, and where the norm stands."""

from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from blockproof.model.residual import PLACEMENTS, RESIDUALS, Placement
from blockproof.tests.helpers import B, D, T, randomise, tiny_config
from blockproof.tests.reference import Array, Weights, linear, sublayer, weights_of

COMBINATIONS = list(product(PLACEMENTS, RESIDUALS))


def wrapped(placement: str, residual: str) -> Placement:
    config = tiny_config(placement=placement, residual=residual)
    return randomise(PLACEMENTS[placement](config, nn.Linear(D, D))).double()


def stream() -> Tensor:
    return 2 * torch.randn(B, T, D, dtype=torch.float64) + 1


@pytest.mark.parametrize(("placement", "residual"), COMBINATIONS)
def test_matches_the_reference(placement: str, residual: str) -> None:
    layer, x = wrapped(placement, residual), stream()
    expected = sublayer(x.numpy(), weights_of(layer), linear, placement, residual)
    torch.testing.assert_close(layer(x), torch.from_numpy(expected), rtol=0, atol=1e-12)


def test_combinations_differ() -> None:
    x = stream().numpy()
    weights = weights_of(wrapped("pre", "add"))
    outputs = [sublayer(x, weights, linear, *combination) for combination in COMBINATIONS]
    assert all(np.abs(a - b).mean() > 0.1 for i, a in enumerate(outputs) for b in outputs[:i])


def silent(x: Array, w: Weights) -> Array:
    return np.zeros_like(x)


@pytest.mark.parametrize(("placement", "residual"), COMBINATIONS)
def test_with_a_silent_sublayer(placement: str, residual: str) -> None:
    """Then pre-norm with a residual is the identity, to the bit, and the others are not."""
    layer, x = wrapped(placement, residual), stream()
    for value in layer.sublayer.parameters():
        nn.init.zeros_(value)
    assert torch.equal(layer(x), x) == ((placement, residual) == ("pre", "add"))
    expected = sublayer(x.numpy(), weights_of(layer), silent, placement, residual)
    torch.testing.assert_close(layer(x), torch.from_numpy(expected), rtol=0, atol=1e-12)


def test_residuals_by_hand() -> None:
    x, branch = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    assert RESIDUALS["add"]()(x, branch).tolist() == [11.0, 22.0]
    assert RESIDUALS["none"]()(x, branch).tolist() == [10.0, 20.0]
