"""The training loop: each step by hand, the same history from the same seeds, and looking changes nothing."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Generator

from blockproof.model.evaluate import evaluate
from blockproof.model.history import History, TrainingPoint
from blockproof.model.labels import IGNORE, Batch
from blockproof.model.optimizer import make_optimizer
from blockproof.model.train import train
from blockproof.model.trainer import backward, update
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import (
    copies,
    dropping,
    gradients,
    same,
    tiny_learner,
    tiny_source,
    tiny_training,
)


def learner(**overrides: Any) -> Transformer:
    """The same every time."""
    torch.manual_seed(7)
    return tiny_learner(init="torch", **overrides)


def run(data_seed: int = 3, dropout: float = 0.0, **overrides: Any) -> tuple[History, Transformer]:
    model = learner(**dropping(dropout))
    return train(model, tiny_source(), tiny_training(**overrides), data_seed), model


def first_batch(data_seed: int = 3) -> Batch:
    return tiny_source().batch(6, Generator().manual_seed(data_seed))


def test_same_seeds_give_the_same_history_to_the_bit() -> None:
    (first, a), (second, b) = run(dropout=0.5), run(dropout=0.5)
    assert first == second
    assert same(copies(a), copies(b))


def test_data_seed_decides_the_batches() -> None:
    first, other = run(3)[0], run(4)[0]
    assert first.validation[0] == other.validation[0]
    assert all(a.loss != b.loss for a, b in zip(first.training, other.training, strict=True))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("change", [{"eval_every": 1}, {"log_every": 1000}])
def test_looking_changes_nothing(change: dict[str, int], dropout: float) -> None:
    (usual, a), (other, b) = run(eval_every=1000, dropout=dropout), run(dropout=dropout, **change)
    assert same(copies(a), copies(b))
    assert all(point in usual.training for point in other.training)


def test_history_has_its_points_at_their_steps() -> None:
    history = run(steps=5, log_every=2, eval_every=3, warmup=2)[0]
    assert [point.step for point in history.training] == [0, 2, 4]
    assert [point.step for point in history.validation] == [0, 3, 5]
    assert [point.step for point in history.layers] == [0, 3]
    assert [point.lr for point in history.training] == [0.005, 0.01, 0.01]
    assert history.diverged_at is None


def test_first_points_by_hand() -> None:
    history, model, (inputs, targets) = run()[0], learner(), first_batch()
    answers = targets != IGNORE
    loss = F.cross_entropy(model(inputs)[answers], targets[answers])
    loss.backward()
    norms = {name: gradient.double().norm().item() for name, gradient in gradients(model).items()}
    norm = math.hypot(*norms.values())
    assert history.training[0].loss == pytest.approx(loss.item(), rel=1e-6)
    assert history.training[0].grad_norm == pytest.approx(norm, rel=1e-5)
    assert history.validation[0].loss == evaluate(model, tiny_source().validation())
    blocks = [history.layers[0].grad_norm[name] for name in ("embedding", "block 0", "block 1", "final norm")]
    assert math.hypot(*blocks, norms["position.table.weight"]) == pytest.approx(norm, rel=1e-5)


def test_last_validation_is_of_the_trained_model() -> None:
    history, model = run()
    assert history.validation[-1].loss == evaluate(model, tiny_source().validation())
    assert history.validation[-1].loss != history.validation[0].loss


@pytest.mark.parametrize("clip", [1e-3, 1e3])
def test_one_step_by_hand(clip: float) -> None:
    """AdamW's first step from zero moments, on the clipped gradient: eps is large, so its size tells."""
    config = tiny_training(steps=1, clip=clip, eps=1e-3, weight_decay=0.3, lr=0.02)
    model, by_hand = learner(), learner()
    train(model, tiny_source(), config, 3)
    point = backward(by_hand, first_batch(), 0, config)
    factor = min(1.0, clip / point.grad_norm)
    assert (factor == 1.0) == (clip == 1e3)
    trained, raw = copies(model), gradients(by_hand)
    for name, parameter in by_hand.named_parameters():
        gradient = raw[name].double() * factor
        decayed = parameter.detach().double() * (1 - 0.02 * (0.3 if parameter.ndim == 2 else 0.0))
        expected = decayed - 0.02 * gradient / (gradient.abs() + 1e-3)
        torch.testing.assert_close(trained[name].double(), expected, rtol=1e-5, atol=1e-6)


def test_second_step_by_hand() -> None:
    """The moments, their bias corrections and the rate of step 1, with the gradients taken as given."""
    config = tiny_training(beta1=0.8, beta2=0.95, eps=1e-3, weight_decay=0.3, clip=1e9, schedule="cosine")
    model = learner()
    optimizer = make_optimizer(model, config)
    p = model.token.weight.detach().double().clone()
    m, v = torch.zeros_like(p), torch.zeros_like(p)
    for step in range(2):
        point = backward(model, first_batch(step), step, config)
        g = gradients(model)["token.weight"].double()
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g**2
        m_hat, v_hat = m / (1 - 0.8 ** (step + 1)), v / (1 - 0.95 ** (step + 1))
        p = p * (1 - point.lr * 0.3) - point.lr * m_hat / (v_hat.sqrt() + 1e-3)
        update(model, optimizer, point, config)
    assert 0.001 < point.lr < 0.01
    torch.testing.assert_close(model.token.weight.detach().double(), p, rtol=1e-5, atol=1e-6)


def test_backward_leaves_fresh_gradients() -> None:
    model, batch, config = learner(), first_batch(), tiny_training()
    first = backward(model, batch, 0, config)
    once = gradients(model)
    assert backward(model, batch, 0, config) == first
    assert same(gradients(model), once)


def test_dropout_acts_in_training_but_not_in_validation() -> None:
    quiet, noisy = run()[0], run(dropout=0.5)[0]
    assert quiet.training[0].loss != noisy.training[0].loss
    assert quiet.validation[0] == noisy.validation[0]


@pytest.mark.parametrize("mode", [True, False])
def test_ends_in_training_mode(mode: bool) -> None:
    model = learner().train(mode)
    train(model, tiny_source(), tiny_training(), 0)
    assert all(part.training for part in model.modules())


def test_points_keep_the_rate_that_is_used() -> None:
    """The update follows the point, not the rate that the optimizer was made with."""
    model, config = learner(), tiny_training()
    optimizer = make_optimizer(model, config)
    backward(model, first_batch(), 0, config)
    before = copies(model)
    update(model, optimizer, TrainingPoint(0, 1.0, 0.0, 1.0), config)
    assert same(copies(model), before)
