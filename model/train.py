"""Training as an experiment: one run from start to end, and the history it leaves."""

from contextlib import nullcontext
from math import isfinite

from blockproof.model.evaluate import evaluate
from blockproof.model.history import History, LayerPoint
from blockproof.model.monitor import ActivationMonitor, gradient_norms
from blockproof.model.source import Source
from blockproof.model.train_config import TrainConfig
from blockproof.model.trainer import Trainer
from blockproof.model.transformer import Transformer


def train(model: Transformer, source: Source, config: TrainConfig, data_seed: int) -> History:
    """Train in place, and stop at the first loss or gradient that is not finite: divergence is a result.

    Looking, which ``log_every`` and ``eval_every`` decide, changes nothing.
    """
    history, held_out = History(), source.validation()
    trainer = Trainer(model, source, config, data_seed)
    for step in range(config.steps):
        looks = step % config.eval_every == 0
        if looks:
            history.validate(step, evaluate(model, held_out))
        with ActivationMonitor(model) if looks else nullcontext() as monitor:
            point = trainer.backward()
        if history.diverged_at == step or not (isfinite(point.loss) and isfinite(point.grad_norm)):
            history.diverged_at = step
            return history
        if monitor is not None:
            history.layers.append(LayerPoint(step, gradient_norms(model), monitor.rms, monitor.likeness))
        if step % config.log_every == 0:
            history.training.append(point)
        trainer.update(point)
    history.validate(config.steps, evaluate(model, held_out))
    return history
