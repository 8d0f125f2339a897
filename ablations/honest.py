"""The loss of a model as generation meets it: each token is predicted from what came before it, and nothing else.

No code of the training is used here, so that a fault in it cannot colour the score; the model is scored as it is.
"""

import torch
import torch.nn.functional as F
from torch import nn

from blockproof.model.labels import IGNORE, Batch


@torch.no_grad()
def honest_loss(model: nn.Module, batch: Batch) -> float:
    """Mean nats over all targets (B, T), in eval mode: at t the model is fed no more than ``inputs[:, : t + 1]``.

    The future is not masked, it is not there: what attends to it finds nothing. For a sound model this is the
    loss on whole windows, to rounding, at (T + 1) / 2 times the cost.
    """
    model.eval()
    total = 0.0
    for t in range(batch.inputs.shape[1]):
        logits = model(batch.inputs[:, : t + 1])[:, -1]  # (B, V)
        total += F.cross_entropy(logits, batch.targets[:, t], ignore_index=IGNORE, reduction="sum").item()
    return total / int((batch.targets != IGNORE).sum())
