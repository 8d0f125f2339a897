"""The loss on held-out data, token by token."""

import torch
from torch import nn

from blockproof.model import labels
from blockproof.model.labels import IGNORE, Batch


@torch.no_grad()
def evaluate(model: nn.Module, batch: Batch, rows: int = 128) -> float:
    """Mean cross-entropy in nats over all targets that are not ignored.

    Works through ``rows`` windows at a time and weighs every target alike, so ``rows`` does not
    matter. The model's mode is restored; no random number is drawn.
    """
    was_training = model.training
    model.eval()
    total = 0.0
    try:
        for inputs, targets in zip(batch.inputs.split(rows), batch.targets.split(rows), strict=True):
            total += labels.cross_entropy(model(inputs), targets, reduction="sum").double().item()
    finally:
        model.train(was_training)
    return total / int((batch.targets != IGNORE).sum())
