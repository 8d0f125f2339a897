"""Which token a training loss asks for, measured against a cross-entropy written as a loop."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

Loss = Callable[[nn.Module, Tensor], Tensor]  # of a model on windows of tokens (B, T + 1)

SHIFTS = {0: "the token itself (shift missing)", 1: "the next token", 2: "the one after next (double shift)"}


@dataclass(frozen=True)
class Labels:
    """A loss beside what it would be for each number of places that labels can be shifted by.

    Attributes:
        loss: as the training code computes it.
        by_shift: the mean of -log p(token t + shift | output at t), by hand.
    """

    loss: float
    by_shift: dict[int, float]

    @property
    def error(self) -> float:
        """Distance in nats from the right loss."""
        return abs(self.loss - self.by_shift[1])

    @property
    def verdict(self) -> str:
        """What the loss seems to ask for."""
        nearest = min(self.by_shift, key=lambda shift: abs(self.loss - self.by_shift[shift]))
        return f"the output at t is scored against {SHIFTS[nearest]}"


def label_shift(model: nn.Module, loss: Loss, tokens: Tensor) -> Labels:
    """Compare ``loss`` with the loop on tokens (B, T + 1)."""
    with torch.no_grad():
        logits = model(tokens[:, :-1])
    value = loss(model, tokens).detach().item()
    return Labels(value, {shift: by_hand(logits, tokens, shift) for shift in SHIFTS})


def by_hand(logits: Tensor, tokens: Tensor, shift: int) -> float:
    """The mean over all b, t of -log p(tokens[b, t + shift]), for logits (B, T, V) at t."""
    losses = [
        -logits[b, t].double().log_softmax(dim=-1)[tokens[b, t + shift]].item()
        for b in range(len(tokens))
        for t in range(min(logits.shape[1], tokens.shape[1] - shift))
    ]
    return sum(losses) / len(losses)


@dataclass(frozen=True)
class Ignored:
    """What targets that are to be ignored do.

    Attributes:
        error: distance in nats from the mean over the other targets, by hand.
        gradient: the largest gradient by the logits where the target is ignored: exactly 0.
        kept: the smallest, over the other places, of the largest gradient there: above 0.
    """

    error: float
    gradient: float
    kept: float


def ignored_targets(loss: Callable[[Tensor, Tensor], Tensor], logits: Tensor, targets: Tensor) -> Ignored:
    """Measure ``loss(logits, targets)``; targets below 0 are those to be ignored."""
    logits = logits.detach().requires_grad_()
    value = loss(logits, targets)
    (gradient,) = torch.autograd.grad(value, logits)
    size, kept = gradient.abs().amax(dim=-1), targets >= 0
    log_p = logits.detach().double().log_softmax(dim=-1)
    losses = [-log_p[b, t, targets[b, t]].item() for b, t in kept.nonzero().tolist()]
    error = abs(value.item() - sum(losses) / len(losses))
    return Ignored(error, size[~kept].amax().item(), size[kept].amin().item())


def next_token_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """The right loss, for models that come without one: mean nats on tokens (B, T + 1)."""
    log_p = model(tokens[:, :-1]).log_softmax(dim=-1)
    return -log_p.gather(-1, tokens[:, 1:, None]).mean()
