"""How long a training step takes, and attention on each of its two paths."""

from collections.abc import Callable
from math import isfinite

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Generator, Tensor

from blockproof.model.attention import CausalSelfAttention, FusedHeads
from blockproof.model.history import TrainingPoint
from blockproof.model.optimizer import make_optimizer
from blockproof.model.position import Position
from blockproof.model.trainer import backward, update
from blockproof.tests.helpers import (
    copies,
    gradients,
    same,
    tiny_config,
    tiny_learner,
    tiny_source,
    tiny_training,
)

WIDTH = {"d_model": 64, "attention": {"n_heads": 4}}


def test_training_step(benchmark: BenchmarkFixture) -> None:
    model, config = tiny_learner(**WIDTH), tiny_training(batch_size=32)
    optimizer, batch = make_optimizer(model, config), tiny_source().batch(32, Generator().manual_seed(0))
    before = copies(model)

    def step() -> TrainingPoint:
        point = backward(model, batch, 0, config)
        update(model, optimizer, point, config)
        return point

    point = benchmark.pedantic(step, rounds=50, warmup_rounds=5)
    assert isfinite(point.loss)
    assert not same(copies(model), before)


NOWHERE = Position(tiny_config())
PATHS: dict[str, Callable[[CausalSelfAttention, Tensor], Tensor]] = {
    "fused": lambda module, x: module(x, NOWHERE),
    "explicit": lambda module, x: module.explicit(x, NOWHERE)[0],
}


@pytest.mark.parametrize("path", PATHS)
def test_attention(benchmark: BenchmarkFixture, path: str) -> None:
    module, x = FusedHeads(tiny_config(context=64, **WIDTH)), torch.randn(8, 64, 64)

    def both_ways() -> Tensor:
        y = PATHS[path](module, x)
        y.sum().backward()
        return y

    y = benchmark.pedantic(both_ways, rounds=50, warmup_rounds=5)
    assert y.shape == x.shape
    assert y.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients(module).values())
