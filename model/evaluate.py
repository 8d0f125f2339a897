"""The loss on held-out data, token by token."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

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
    total, device = 0.0, next(model.parameters()).device
    with evaluating(model):
        for inputs, targets in zip(batch.inputs.split(rows), batch.targets.split(rows), strict=True):
            logits = model(inputs.to(device))
            total += labels.cross_entropy(logits, targets.to(device), reduction="sum").double().item()
    return total / int((batch.targets != IGNORE).sum())


def perplexity(loss: float) -> float:
    """Exp of a mean loss in nats: among how many equally likely tokens the model is left to choose."""
    return math.exp(loss) if loss < 700 else math.inf  # a float holds no more


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Eval mode for a while; afterwards every module is in the mode that it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
