"""What a training run showed, point by point."""

from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple


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
