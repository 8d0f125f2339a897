"""The loss that training minimises asks each place for the next token, once, and for nothing else."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from blockproof.model.labels import IGNORE, cross_entropy, shift
from blockproof.model.trainer import backward
from blockproof.tests.checks.controls import double_shift_loss, unshifted_loss
from blockproof.tests.checks.labels import Loss, ignored_targets, label_shift, next_token_loss
from blockproof.tests.helpers import B, T, V, tiny_ids, tiny_model, tiny_training


def training_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """As ``train`` computes it."""
    return torch.tensor(backward(model, shift(tokens), 0, tiny_training()).loss, dtype=torch.float64)


@pytest.mark.parametrize("loss", [training_loss, next_token_loss])
def test_asks_for_the_next_token(variant: dict[str, Any], loss: Loss) -> None:
    evidence = label_shift(tiny_model(1.0, **variant), loss, tiny_ids(length=T + 1))
    assert evidence.error < 1e-12
    assert min(abs(evidence.by_shift[1] - evidence.by_shift[other]) for other in (0, 2)) > 1e-2
    assert evidence.verdict.endswith("the next token")


@pytest.mark.parametrize(
    ("loss", "verdict"), [(unshifted_loss, "shift missing"), (double_shift_loss, "double shift")]
)
def test_sees_a_wrong_shift(loss: Loss, verdict: str) -> None:
    evidence = label_shift(tiny_model(1.0), loss, tiny_ids(length=T + 1))
    assert evidence.error > 1e-2
    assert verdict in evidence.verdict


def some_ignored() -> tuple[Tensor, Tensor]:
    """Logits (B, T, V), and targets (B, T) of which every row lacks another number."""
    logits, targets = 3 * torch.randn(B, T, V, dtype=torch.float64), tiny_ids()
    targets[torch.arange(T) < torch.arange(1, B + 1)[:, None]] = IGNORE
    return logits, targets


def test_ignored_targets_give_neither_loss_nor_gradient() -> None:
    evidence = ignored_targets(cross_entropy, *some_ignored())
    assert evidence.error < 1e-12
    assert evidence.gradient == 0.0
    assert evidence.kept > 1e-3


@pytest.mark.parametrize("fault", ["counts them", "scores them"])
def test_sees_that_ignored_targets_are_not(fault: str) -> None:
    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        if fault == "counts them":
            return cross_entropy(logits, targets, reduction="sum") / targets.numel()
        return cross_entropy(logits, targets.clamp(min=0))

    evidence = ignored_targets(loss, *some_ignored())
    assert evidence.error > 1e-2
    assert (evidence.gradient > 0) == (fault == "scores them")
