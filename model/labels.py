"""The label convention, in this one place: ``logits[:, t]`` is scored against the token at t + 1.

A model gets ``tokens[:, :-1]`` and is asked for ``tokens[:, 1:]``. Nothing else in the project shifts
anything, but for the source "offset", which asks for a token of the past on purpose.
"""

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor

IGNORE = -100  # a target that adds nothing to the loss; torch's own default


class Batch(NamedTuple):
    """Token ids and the ids asked for, each (B, T)."""

    inputs: Tensor
    targets: Tensor


def shift(tokens: Tensor, first_target: int = 1) -> Batch:
    """Windows (B, T + 1) to inputs and targets.

    Targets that stand before place ``first_target`` of the window are set to ``IGNORE``.
    """
    targets = tokens[:, 1:].clone()
    targets[:, : first_target - 1] = IGNORE
    return Batch(tokens[:, :-1], targets)


def cross_entropy(logits: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """Nats: logits (B, T, V) against targets (B, T), over the targets that are not ignored.

    The mean over no targets at all is 0, without a gradient; torch's own would be NaN.
    """
    kind = "sum" if reduction == "mean" else reduction
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE, reduction=kind)
    return loss / (targets != IGNORE).sum().clamp(min=1) if reduction == "mean" else loss
