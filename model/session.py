"""A run that a person starts: in a folder, with a log and checkpoints, and it can stop and go on."""

from contextlib import nullcontext
from math import isfinite
from pathlib import Path
from typing import Any

import torch

from blockproof.model import checkpoint
from blockproof.model.evaluate import evaluate, perplexity
from blockproof.model.history import TrainingPoint
from blockproof.model.interruption import Interruption
from blockproof.model.log import Log
from blockproof.model.monitor import ActivationMonitor, first_not_finite
from blockproof.model.recipe import Recipe
from blockproof.model.stored import naming, run_of
from blockproof.model.throughput import StepMemory, Throughput
from blockproof.model.trainer import Trainer
from blockproof.model.transformer import Transformer

CHECKPOINT = "checkpoint.safetensors"


class DivergedError(RuntimeError):
    """A loss or gradient that is not finite; the message says at which update, and where it came up first."""


class Session:
    """Trains by a recipe in a folder, which then holds ``log.jsonl`` and the latest checkpoint.

    Attributes:
        trainer: the run so far.
        stopped: whether the user asked to stop.
    """

    def __init__(
        self, recipe: Recipe, folder: Path, *, device: str = "cpu", tensorboard: bool = False
    ) -> None:
        self.recipe, self.folder, self.tensorboard = recipe, folder, tensorboard
        source = recipe.source()
        torch.manual_seed(recipe.seed)
        model = Transformer(recipe.model).to(device)
        self.trainer = Trainer(model, source, recipe.train, recipe.seed)
        self.held_out = source.validation()
        self.speed = Throughput(recipe.model, torch.device(device))
        self.stopped = False

    @classmethod
    def resumed(cls, folder: Path, **settings: Any) -> "Session":
        """The session whose checkpoint the folder holds, as it was then; its recipe comes with it.

        Raises:
            CheckpointError: if there is none, or it cannot be used.
            ConfigError: if its data are not the ones at hand.
        """
        path = folder / CHECKPOINT
        kept = checkpoint.load(path)
        recipe, step = run_of(path, kept.facts)
        session = cls(recipe, folder, **settings)
        with naming(path):
            session.trainer.restore(kept.tensors, step)
        return session

    def run(self, stop_at: int | None = None) -> None:
        """Train to the end, to update ``stop_at``, or until the user asks to stop; then keep a checkpoint.

        Raises:
            DivergedError: if it does; the latest checkpoint stays as it was.
        """
        trainer, steps = self.trainer, self.recipe.train.steps
        end = min(steps, stop_at or steps)
        where: dict[str, Any] = {"step": trainer.step, "steps": steps, "tensorboard": self.tensorboard}
        with Log(self.folder, **where) as log, Interruption() as interruption:
            first = trainer.step
            while trainer.step < end and not interruption.asked:
                self._update(log, measure_memory=trainer.step == first)
            if trainer.step == steps:
                self._validate(log)
            self.save()
            self.stopped = interruption.asked

    def save(self) -> None:
        """Put the run as it is into its checkpoint, in place of the last one."""
        alphabet, step = self.trainer.source.alphabet, self.trainer.step
        facts = {"recipe": self.recipe.to_dict(), "step": step, "alphabet": alphabet}
        checkpoint.save(self.folder / CHECKPOINT, self.trainer.state(), facts)

    def _update(self, log: Log, *, measure_memory: bool) -> None:
        trainer, step = self.trainer, self.trainer.step
        looks = step % self.recipe.train.eval_every == 0
        if looks:
            self._validate(log)
            self.save()
        with (
            ActivationMonitor(trainer.model) if looks else nullcontext() as monitor,
            StepMemory() if measure_memory else nullcontext() as memory,
        ):
            point = self._finite(trainer.backward(), log)
            trainer.update(point)
        if monitor is not None:
            log.write({"step": step, "activation_rms": monitor.rms})
        if memory is not None:
            log.write({"step": step, "peak_memory_bytes": memory.peak})
        self._log(point, log, timed=not looks and memory is None)
        log.advance()

    def _log(self, point: TrainingPoint, log: Log, *, timed: bool) -> None:
        """The training point, if it is time for one; updates that were looked into do not count as speed."""
        size = self.recipe.train.batch_size * self.recipe.model.context
        self.speed.count(size) if timed else self.speed.skip()
        if point.step % self.recipe.train.log_every == 0:
            tokens_per_second, mfu = self.speed.look()
            shown = {"loss": point.loss, "perplexity": perplexity(point.loss), "lr": point.lr}
            rest = {"grad_norm": point.grad_norm, "tokens_per_second": tokens_per_second, "mfu": mfu}
            log.write({"step": point.step, **shown, **rest})
            log.show({"loss": point.loss, "lr": point.lr, "tokens/s": tokens_per_second or 0.0})

    def _validate(self, log: Log) -> None:
        step, loss = self.trainer.step, evaluate(self.trainer.model, self.held_out)
        log.write({"step": step, "validation_loss": loss, "validation_perplexity": perplexity(loss)})
        log.tell(f"update {step}: validation loss {loss:.4f} nats, perplexity {perplexity(loss):.3f}")

    def _finite(self, point: TrainingPoint, log: Log) -> TrainingPoint:
        """The point, if the update that it asks for can be taken."""
        if isfinite(point.loss) and isfinite(point.grad_norm):
            return point
        assert self.trainer.batch is not None
        where = first_not_finite(self.trainer.model, self.trainer.batch)
        log.write(
            {"step": point.step, "loss": point.loss, "grad_norm": point.grad_norm, "diverged_in": where}
        )
        raise DivergedError(
            f"diverged at update {point.step}: loss {point.loss:.3g}, gradient norm {point.grad_norm:.3g}, "
            f"first not finite in {where}; lower train.lr, or lengthen train.warmup"
        )
