"""How a model is trained, in numbers."""

from dataclasses import dataclass

from blockproof.model.schedule import SCHEDULES
from blockproof.model.schema import Config, ConfigError, choice, number


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """How a model is trained.

    Attributes:
        steps: optimizer updates.
        batch_size: windows an update.
        micro_batch: windows a forward pass, for batches that do not fit into memory; None is all at once.
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
    micro_batch: int | None = number(None, low=1)
    lr: float = number(low=0.0, below=1e36)  # Adam's first step divides by 1 - β₁: float32 must hold it
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
        """The warm-up must fit into the run, and a schedule may need one."""
        if self.warmup >= self.steps:
            raise ConfigError(f"a warm-up of {self.warmup} steps leaves none of {self.steps}: shorten it")
        if self.schedule == "noam" and self.warmup == 0:
            raise ConfigError("the schedule 'noam' falls from the end of its warm-up: give warmup at least 1")
        if self.micro_batch is not None and self.micro_batch > self.batch_size:
            raise ConfigError(
                f"micro_batch {self.micro_batch} is more than batch_size {self.batch_size}: leave it out"
            )
