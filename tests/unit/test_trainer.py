"""The trainer: parts of a batch weigh by their targets, and a run that stops goes on to the bit."""

from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn

from blockproof.model.history import TrainingPoint
from blockproof.model.labels import IGNORE, Batch
from blockproof.model.optimizer import make_optimizer
from blockproof.model.schema import ConfigError
from blockproof.model.trainer import Trainer, backward, update
from blockproof.tests.helpers import (
    copies,
    dropping,
    gradients,
    same,
    tiny_ids,
    tiny_learner,
    tiny_model,
    tiny_source,
    tiny_training,
)

ROWS = 6


def ragged() -> Batch:
    """Rows that ask for different numbers of targets, one for none."""
    targets = tiny_ids(batch=ROWS)
    T = targets.shape[1]
    targets[torch.arange(T) < torch.arange(ROWS)[:, None] * T // (ROWS - 1)] = IGNORE
    assert int((targets[-1] != IGNORE).sum()) == 0
    return Batch(tiny_ids(batch=ROWS), targets)


def trainer(seed: int = 3, **overrides: Any) -> Trainer:
    torch.manual_seed(7)
    settings = {"steps": 9, "schedule": "cosine", "warmup": 2} | overrides
    return Trainer(
        tiny_learner(init="torch", **dropping(0.5)), tiny_source(), tiny_training(**settings), seed
    )


def advance(run: Trainer, steps: int) -> list[TrainingPoint]:
    points = []
    for _ in range(steps):
        points.append(run.backward())
        run.update(points[-1])
    return points


@pytest.mark.parametrize("micro", [1, 2, 3, 4, 5])
def test_accumulated_gradients_are_those_of_the_whole_batch(micro: int) -> None:
    """Also where the parts are unequal, in windows and in targets: 4 leaves a rest of 2."""
    model, batch = tiny_model(1.0), ragged()
    whole = backward(model, batch, 0, tiny_training(batch_size=ROWS))
    expected = gradients(model)
    point = backward(model, batch, 0, tiny_training(batch_size=ROWS, micro_batch=micro))
    assert point.loss == pytest.approx(whole.loss, rel=1e-12)
    assert point.grad_norm == pytest.approx(whole.grad_norm, rel=1e-12)
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-10, atol=1e-14)


def test_every_window_of_a_batch_is_used() -> None:
    seen: list[int] = []
    model = tiny_model()
    handle = model.register_forward_hook(lambda module, inputs, output: seen.append(len(inputs[0])))
    backward(model, ragged(), 0, tiny_training(batch_size=ROWS, micro_batch=4))
    handle.remove()
    assert seen == [4, 2]


def test_the_rate_follows_updates_not_parts() -> None:
    rates = [[point.lr for point in advance(trainer(micro_batch=micro), 9)] for micro in (None, 1)]
    assert rates[0] == rates[1]
    assert len(set(rates[0])) > 6


def test_clipping_is_of_the_sum_of_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    norms: list[float] = []
    model, config = tiny_model(1.0), tiny_training(batch_size=ROWS, micro_batch=1, clip=1e-3)
    clip = nn.utils.clip_grads_with_norm_

    def seen(parameters: Any, most: float, norm: Tensor) -> None:
        norms.append(float(norm))
        clip(parameters, most, norm)

    monkeypatch.setattr(nn.utils, "clip_grads_with_norm_", seen)
    point = backward(model, ragged(), 0, config)
    update(model, make_optimizer(model, config), point, config)
    assert norms == [pytest.approx(point.grad_norm)]
    left = torch.linalg.vector_norm(torch.stack([g.norm() for g in gradients(model).values()])).item()
    assert left == pytest.approx(1e-3, rel=1e-2)


@pytest.mark.parametrize("stop", [0, 1, 4, 8])
def test_a_run_that_stopped_goes_on_to_the_bit(stop: int) -> None:
    """With dropout, random batches and a schedule; into a trainer that has gone another way."""
    whole = trainer()
    expected = advance(whole, 9)
    first = trainer()
    points = advance(first, stop)
    kept = {name: tensor.clone() for name, tensor in first.state().items()}
    other = trainer(seed=99)
    advance(other, 2)
    other.restore(kept, stop)
    assert points + advance(other, 9 - stop) == expected
    assert same(copies(other.model), copies(whole.model))
    assert same(other.state(), whole.state())


def test_the_state_names_every_tensor_that_matters() -> None:
    run = trainer()
    advance(run, 1)
    names = [name for name, _ in run.model.named_parameters()]
    expected = {f"model.{name}" for name in run.model.state_dict()} | {"random.data", "random.dropout"}
    expected |= {f"optimizer.{name}.{key}" for name in names for key in ("step", "exp_avg", "exp_avg_sq")}
    assert set(run.state()) == expected


def test_a_run_from_a_gpu_goes_on_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of CUDA's generator, which a checkpoint may hold, is then left alone."""
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda *state: pytest.fail("there is no such generator"))
    run = trainer()
    advance(run, 1)
    kept = {name: tensor.clone() for name, tensor in run.state().items()}
    expected, other = advance(run, 2), trainer(seed=99)
    other.restore(kept | {"random.cuda": torch.zeros(16, dtype=torch.uint8)}, 1)
    assert advance(other, 2) == expected


def test_restoring_does_not_share_memory_with_the_checkpoint() -> None:
    run = trainer()
    advance(run, 2)
    kept = {name: tensor.clone() for name, tensor in run.state().items()}
    before = {name: tensor.clone() for name, tensor in kept.items()}
    run.restore(kept, 2)
    advance(run, 2)
    assert same(kept, before)


def test_parts_larger_than_the_batch_are_refused() -> None:
    with pytest.raises(ConfigError, match="micro_batch 7 is more than batch_size 6"):
        tiny_training(batch_size=6, micro_batch=7)


def test_noam_needs_a_warm_up() -> None:
    with pytest.raises(ConfigError, match="give warmup at least 1"):
        tiny_training(schedule="noam")


def test_the_data_seed_alone_draws_the_batches() -> None:
    run = trainer(5)
    run.backward()
    expected = tiny_source().batch(run.config.batch_size, Generator().manual_seed(5))
    assert run.batch is not None
    assert torch.equal(run.batch.inputs, expected.inputs)


def test_batches_come_one_after_the_other() -> None:
    """Each update sees the next ones of one stream, never the first again."""
    run, stream = trainer(5), Generator().manual_seed(5)
    for _ in range(4):
        advance(run, 1)
        assert run.batch is not None
        assert torch.equal(run.batch.inputs, tiny_source().batch(run.config.batch_size, stream).inputs)
