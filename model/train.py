"""Training: one loop, and the history it leaves. A run that diverges ends early, as a result."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

import torch
from torch import Generator, nn
from torch.optim import Optimizer

from blockproof.model import labels
from blockproof.model.evaluate import evaluate
from blockproof.model.labels import Batch
from blockproof.model.monitor import ActivationMonitor, gradient_norms
from blockproof.model.optimizer import make_optimizer
from blockproof.model.schedule import SCHEDULES, learning_rate
from blockproof.model.schema import Config, ConfigError, choice, number
from blockproof.model.source import Source
from blockproof.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """How a model is trained.

    Attributes:
        steps: optimizer updates.
        batch_size: windows an update.
        lr: the highest learning rate.
        warmup: updates of linear warm-up.
        schedule: a key of ``SCHEDULES``, from the end of the warm-up.
        weight_decay: AdamW's, on matrices only.
        clip: the largest global gradient norm; larger gradients are scaled down to it.
        log_every: updates between two points of the training curves.
        eval_every: updates between two validation losses and looks at each layer.
    """

    steps: int = number(low=1)
    batch_size: int = number(low=1)
    lr: float = number(low=0.0)
    warmup: int = number(0, low=0)
    schedule: str = choice(SCHEDULES, "constant")
    weight_decay: float = number(0.1, low=0.0)
    beta1: float = number(0.9, low=0.0, below=1.0)
    beta2: float = number(0.99, low=0.0, below=1.0)
    eps: float = number(1e-8, low=0.0)
    clip: float = number(1.0, low=0.0)
    log_every: int = number(5, low=1)
    eval_every: int = number(50, low=1)

    def validate(self) -> None:
        """The warm-up must fit into the run."""
        if self.warmup >= self.steps:
            raise ConfigError(f"a warm-up of {self.warmup} steps leaves none of {self.steps}: shorten it")


class TrainingPoint(NamedTuple):
    """Before update ``step``: batch loss in nats, learning rate, global gradient norm before clipping."""

    step: int
    loss: float
    lr: float
    grad_norm: float


class ValidationPoint(NamedTuple):
    """Before update ``step``: mean loss over the validation targets, in nats."""

    step: int
    loss: float


class LayerPoint(NamedTuple):
    """Before update ``step``, by layer: gradient norm, activation RMS, likeness of the tokens."""

    step: int
    grad_norm: dict[str, float]
    activation_rms: dict[str, float]
    likeness: dict[str, float]


@dataclass
class History:
    """What a run showed. Only finite points are kept; ``diverged_at`` is the first step without one."""

    training: list[TrainingPoint] = field(default_factory=list)
    validation: list[ValidationPoint] = field(default_factory=list)
    layers: list[LayerPoint] = field(default_factory=list)
    diverged_at: int | None = None

    def validate(self, step: int, loss: float) -> None:
        """Take a validation loss, or note that there is none."""
        if isfinite(loss):
            self.validation.append(ValidationPoint(step, loss))
        elif self.diverged_at is None:
            self.diverged_at = step


def train(model: Transformer, source: Source, config: TrainConfig, data_seed: int) -> History:
    """Train in place, and stop at the first loss or gradient that is not finite.

    ``data_seed`` alone decides which batches are seen, in which order; dropout draws from torch's
    global state.
    """
    history, held_out = History(), source.validation()
    optimizer = make_optimizer(model, config)
    generator = Generator().manual_seed(data_seed)
    model.train()
    for step in range(config.steps):
        looks = step % config.eval_every == 0
        if looks:
            history.validate(step, evaluate(model, held_out))
        with ActivationMonitor(model) if looks else nullcontext() as monitor:
            point = backward(model, source.batch(config.batch_size, generator), step, config)
        if history.diverged_at == step or not (isfinite(point.loss) and isfinite(point.grad_norm)):
            history.diverged_at = step
            return history
        if monitor is not None:
            history.layers.append(LayerPoint(step, gradient_norms(model), monitor.rms, monitor.likeness))
        if step % config.log_every == 0:
            history.training.append(point)
        update(model, optimizer, point, config)
    history.validate(config.steps, evaluate(model, held_out))
    return history


def backward(model: nn.Module, batch: Batch, step: int, config: TrainConfig) -> TrainingPoint:
    """Leave fresh gradients of the batch's mean loss in the model."""
    model.zero_grad(set_to_none=True)
    loss = labels.cross_entropy(model(batch.inputs), batch.targets)
    loss.backward()
    lr = learning_rate(step, lr=config.lr, steps=config.steps, warmup=config.warmup, schedule=config.schedule)
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return TrainingPoint(step, loss.item(), lr, nn.utils.get_total_norm(gradients).item())


def update(model: nn.Module, optimizer: Optimizer, point: TrainingPoint, config: TrainConfig) -> None:
    """Clip the gradients to ``clip`` and take one step at the point's learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = point.lr
    nn.utils.clip_grads_with_norm_(model.parameters(), config.clip, torch.tensor(point.grad_norm))
    optimizer.step()
