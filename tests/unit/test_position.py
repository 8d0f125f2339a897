"""Positions: one vector a place, the same in every sequence, or none at all."""

import pytest
import torch

from blockproof.model.position import POSITIONS
from blockproof.tests.helpers import B, D, T, parameter, randomise, tiny_config


@pytest.mark.parametrize("length", [1, T - 2, T])
def test_learned_adds_the_vector_of_each_place(length: int) -> None:
    position = randomise(POSITIONS["learned"](tiny_config()))
    x = torch.randn(B, length, D)
    y, table = position(x), parameter(position, "table.weight")
    for b in range(B):
        for t in range(length):
            assert torch.equal(y[b, t], x[b, t] + table[t])


def test_learned_has_a_vector_for_each_place_of_the_context() -> None:
    shapes = [tuple(parameter.shape) for parameter in POSITIONS["learned"](tiny_config()).parameters()]
    assert shapes == [(T, D)]


def test_none_adds_nothing() -> None:
    position = POSITIONS["none"](tiny_config())
    x = torch.randn(B, T, D)
    assert torch.equal(position(x), x)
    assert list(position.parameters()) == []
