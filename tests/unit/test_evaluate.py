"""Evaluation: the same number for any chunk size, and nothing is left changed."""

import math

import pytest
import torch

from blockproof.model.evaluate import evaluate, evaluating, perplexity
from blockproof.model.labels import IGNORE, Batch
from blockproof.tests.checks.labels import by_hand
from blockproof.tests.helpers import T, copies, dropping, parameter, same, tiny_ids, tiny_model

ROWS = 10


def held_out() -> Batch:
    """Targets of which every row lacks another number, so that a mean of means is not the mean."""
    targets = tiny_ids(batch=ROWS)
    targets[torch.arange(T) < torch.arange(ROWS)[:, None] - 3] = IGNORE
    assert (targets == IGNORE).sum(dim=1).unique().numel() > 3
    return Batch(tiny_ids(batch=ROWS), targets)


@pytest.mark.parametrize("rows", [1, 3, 7, ROWS, 128])
def test_weighs_every_target_alike(rows: int) -> None:
    model, batch = tiny_model(1.0), held_out()
    log_p = model(batch.inputs).detach().log_softmax(-1)
    kept = (batch.targets != IGNORE).nonzero().tolist()
    expected = -sum(log_p[b, t, batch.targets[b, t]].item() for b, t in kept) / len(kept)
    assert evaluate(model, batch, rows) == pytest.approx(expected, rel=1e-12)
    mean_of_rows = sum(evaluate(model, Batch(*(x[r : r + 1] for x in batch))) for r in range(ROWS)) / ROWS
    assert abs(mean_of_rows - expected) > 1e-3


def test_without_ignored_targets() -> None:
    model, tokens = tiny_model(), tiny_ids(length=T + 1)
    expected = by_hand(model(tokens[:, :-1]).detach(), tokens, 1)
    assert evaluate(model, Batch(tokens[:, :-1], tokens[:, 1:])) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("training", [True, False])
def test_leaves_everything_as_it_was(training: bool) -> None:
    model = tiny_model(**dropping()).train(training)
    before, batch = copies(model), held_out()
    state = torch.get_rng_state()
    first, second = evaluate(model, batch), evaluate(model, batch)
    assert first == second
    assert all(module.training == training for module in model.modules())
    assert torch.equal(torch.get_rng_state(), state)
    assert same(copies(model), before)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_dropout_is_off() -> None:
    model, batch = tiny_model(**dropping()).train(), held_out()
    quiet = tiny_model()
    quiet.load_state_dict(model.state_dict())
    assert evaluate(model, batch) == evaluate(quiet, batch)


def test_no_target_gives_no_loss() -> None:
    """A mean of nothing is no number: 0 would be the best loss of all."""
    batch = held_out()
    with pytest.raises(ZeroDivisionError):
        evaluate(tiny_model(), Batch(batch.inputs, torch.full_like(batch.targets, IGNORE)))


def test_nan_is_told() -> None:
    model = tiny_model()
    with torch.no_grad():
        parameter(model, "norm.weight")[0] = torch.nan
    assert math.isnan(evaluate(model, held_out()))


def test_every_module_gets_its_own_mode_back() -> None:
    model = tiny_model().train()
    frozen = model.blocks[0].eval()
    with evaluating(model):
        assert not any(module.training for module in model.modules())
    assert model.training
    assert model.blocks[1].training
    assert not any(module.training for module in frozen.modules())


def test_the_mode_comes_back_after_an_error() -> None:
    model, batch = tiny_model().train(), held_out()
    with pytest.raises(ValueError, match="outside the vocabulary"):
        evaluate(model, Batch(batch.inputs + 1000, batch.targets))
    assert model.training


def test_perplexity_of_a_model_that_knows_nothing_is_the_vocabulary() -> None:
    assert perplexity(math.log(65)) == pytest.approx(65, rel=1e-12)
    assert perplexity(0.0) == 1.0
    assert perplexity(1e4) == math.inf
