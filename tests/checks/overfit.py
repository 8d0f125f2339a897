"""Overfitting one tiny batch, seen from both sides.

Sequences that share prefixes and then part cannot be predicted perfectly: the mean loss on them has
a positive floor. A model that ends above it cannot learn what it should; one that gets below it has
seen its targets. The usual check, loss → 0 on arbitrary sequences, passes both.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from blockproof.tests.checks.labels import Loss, next_token_loss

ROUNDING = 1e-5  # nats; a float32 mean of 128 losses is this exact
BAND = 0.02  # nats above the floor that a model may end at

Prefix = tuple[int, ...]


@dataclass(frozen=True)
class Overfit:
    """A training run on one batch.

    Attributes:
        curve: the loss before each update, and after the last.
        floor: the lowest mean loss that is possible without seeing the targets, in nats.
    """

    curve: tuple[float, ...]
    floor: float

    @property
    def final(self) -> float:
        """The loss after the last update."""
        return self.curve[-1]

    @property
    def verdict(self) -> str:
        """Which side of the floor the run is on; "at the floor" is the only good one."""
        if any(loss < self.floor - ROUNDING for loss in self.curve):
            return "below the floor: targets leak into inputs, or labels are not shifted"
        if self.final <= self.floor + BAND:
            return "at the floor"
        return "above the floor: the model cannot learn what the prefix tells"  # NaN comes here too


def overfit(model: nn.Module, loss: Loss = next_token_loss, *, steps: int = 400, lr: float = 5e-3) -> Overfit:
    """Train the model in place on ``twins()`` with AdamW, in eval mode so that dropout is off.

    It always takes all steps: a leaking model passes the floor on its way down.
    """
    tokens, was_training = twins(), model.training
    model.eval()
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.99), weight_decay=0.0)
    curve = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = lr * min((step + 1) / 20, 1 - step / steps)  # up, then down to 0
        optimizer.zero_grad()
        value = loss(model, tokens)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        curve.append(value.item())
    with torch.no_grad():
        curve.append(loss(model, tokens).item())
    model.train(was_training)
    return Overfit(tuple(curve), loss_floor(tokens))


def twins() -> Tensor:
    """16 sequences of 9 tokens from 10 ids (16, 9): start, pair, ask, answer, pair, ask, answer.

    A pair stands in one of two orders, and its answer, 8 or 9, tells which. Twins differ in order
    alone: neither the last token nor the set of tokens so far tells the answer, the prefix does.
    """
    return torch.tensor(
        [
            [0, *pair[::first], 7, 8 + (first > 0), *(5, 6)[::second], 7, 8 + (second > 0)]
            for pair in ((1, 2), (1, 3), (2, 4), (3, 4))
            for first in (1, -1)
            for second in (1, -1)
        ]
    )


def loss_floor(tokens: Tensor, sees: Callable[[Prefix], Hashable] = tuple, ahead: int = 1) -> float:
    """The lowest mean loss on tokens (B, T + 1) of a model that knows ``sees(prefix)``, in nats.

    It is the mean over all targets of -log(the frequency of the token ``ahead`` of the prefix
    among all prefixes that look the same).
    """
    targets = [
        (sees(tuple(row[: t + 1])), row[t + ahead])
        for row in tokens.tolist()
        for t in range(len(row) - max(1, ahead))
    ]
    pairs, prefixes = Counter(targets), Counter(prefix for prefix, _ in targets)
    return sum(-math.log(pairs[target] / prefixes[target[0]]) for target in targets) / len(targets)


def last_token(prefix: Prefix) -> Hashable:
    """All that a bigram model sees."""
    return prefix[-1]


def bag(prefix: Prefix) -> Hashable:
    """All that a position-blind layer sees: the last token, and the set of those before it, counted."""
    return prefix[-1], tuple(sorted(prefix))
