"""A run that diverges ends early and is a result: its history says when, and holds only numbers."""

import math
from math import isfinite
from typing import Any

import pytest

from blockproof.model import train as module
from blockproof.model import trainer
from blockproof.model.history import History
from blockproof.model.train import train
from blockproof.tests.helpers import tiny_learner, tiny_source, tiny_training

STEPS = 12


def run(**overrides: Any) -> History:
    config = tiny_training(**{"steps": STEPS} | overrides)
    return train(tiny_learner(init="torch"), tiny_source(), config, data_seed=3)


def numbers(history: History) -> list[float]:
    layers = [value for point in history.layers for by_layer in point[1:] for value in by_layer.values()]
    return layers + [value for point in history.training + history.validation for value in point]


@pytest.mark.parametrize("lr", [1e2, 1e4, 1e30])
def test_divergence_is_a_result(lr: float) -> None:
    history = run(lr=lr, eval_every=1)
    assert history.diverged_at is not None
    assert 0 < history.diverged_at < STEPS
    assert all(map(isfinite, numbers(history)))
    assert [point.step for point in history.training] == list(range(history.diverged_at))


def test_divergence_in_the_last_step_is_seen() -> None:
    history = run(steps=1, lr=1e30)
    assert history.diverged_at == 1
    assert [point.step for point in history.validation] == [0]


def test_a_gradient_alone_can_diverge(monkeypatch: pytest.MonkeyPatch) -> None:
    norms = iter([1.0, math.inf])
    sound = trainer.backward
    monkeypatch.setattr(
        trainer, "backward", lambda *arguments: sound(*arguments)._replace(grad_norm=next(norms))
    )
    history = run()
    assert history.diverged_at == 1
    assert [point.step for point in history.training] == [0]


def test_validation_alone_can_diverge(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([2.0, math.nan])
    monkeypatch.setattr(module, "evaluate", lambda model, batch: next(losses))
    history = run()
    assert history.diverged_at == 2
    assert [point.step for point in history.training] == [0, 1]
    assert [point.step for point in history.validation] == [point.step for point in history.layers] == [0]
