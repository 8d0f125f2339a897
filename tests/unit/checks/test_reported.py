"""The loss that a model reports: right ones of every style pass, each wrong reading is named."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.checks.reported import (
    all_ignored_is_defined,
    asks_for_the_next_token,
    ignores_what_is_to_be_ignored,
)
from blockproof.tests.seam.subject import Subject, subject
from blockproof.tests.unit.seam.styles import STYLES, Bare, V

CHECKS: list[Callable[[Subject], Evidence]] = [
    asks_for_the_next_token, ignores_what_is_to_be_ignored, all_ignored_is_defined,
]  # fmt: skip


@pytest.mark.parametrize("style", ["nanoGPT", "lecture", "hub", "dict"])
def test_right_models_pass(style: str) -> None:
    judged = subject(style, STYLES[style])
    assert asks_for_the_next_token(judged).sound
    assert ignores_what_is_to_be_ignored(judged).sound


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("style", ["bare", "encoder"])
def test_a_model_without_a_loss_lacks_one(style: str, check: Callable[[Subject], Evidence]) -> None:
    with pytest.raises(LackingError, match="reports no loss"):
        check(subject(style, STYLES[style]))


def mean(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


Faulty = Callable[[Tensor, Tensor], Tensor]  # of logits and targets (already shifted)
TARGETS: dict[str, tuple[Faulty, str]] = {
    "second shift": (lambda z, y: mean(z[:, :-1], y[:, 1:]), "the labels are shifted twice"),
    "softmax first": (lambda z, y: mean(z.softmax(-1), y), "of a second softmax"),
    "sum": (lambda z, y: mean(z, y) * y.numel(), "a sum, not a mean"),
    "bits": (lambda z, y: mean(z, y) / torch.tensor(2.0).log(), "in bits"),
    "first half": (lambda z, y: mean(z[:, :4], y[:, :4]), "of no usual kind"),
    "nan": (lambda z, y: mean(z, y) * torch.nan, "of no usual kind"),
    "smoothed": (
        lambda z, y: F.cross_entropy(z.flatten(0, 1), y.flatten(), label_smoothing=0.01), "of no usual kind",
    ),
}  # fmt: skip


def with_targets(loss: Faulty) -> Callable[[], Bare]:
    class Model(Bare):
        def forward(self, ids: Tensor, targets: Tensor | None = None) -> Any:
            logits = self.net(ids)
            return logits, None if targets is None else loss(logits, targets)

    return Model


@pytest.mark.parametrize("fault", TARGETS)
def test_a_wrong_loss_is_read(fault: str) -> None:
    loss, words = TARGETS[fault]
    evidence = asks_for_the_next_token(subject(fault, with_targets(loss)))
    assert words in evidence.problem
    assert "--label-shift" in evidence.remedy


def with_labels(loss: Faulty) -> Callable[[], Bare]:
    class Model(Bare):
        def forward(self, ids: Tensor, labels: Tensor | None = None) -> Any:
            logits = self.net(ids)
            return logits, None if labels is None else loss(logits, labels)

    return Model


def test_labels_that_are_not_shifted_inside_are_read() -> None:
    evidence = asks_for_the_next_token(subject("unshifted", with_labels(mean)))
    assert not evidence.sound
    assert "the labels are not shifted" in evidence.problem


def test_a_convention_that_is_told_is_believed() -> None:
    """Targets that the model shifts itself, though their name does not say so."""
    inside = with_targets(lambda z, y: mean(z[:, :-1], y[:, 1:]))
    assert not asks_for_the_next_token(subject("told", inside)).sound
    assert asks_for_the_next_token(subject("told", inside, label_shift="inside")).sound


IGNORED: dict[str, Faulty] = {
    "divided by all": lambda z, y: F.cross_entropy(z.flatten(0, 1), y.flatten(), reduction="sum") / y.numel(),
    "scored as 0": lambda z, y: mean(z, y.clamp(min=0)),
    "last one alone": lambda z, y: mean(z[:, -1:], y[:, -1:]),
}


@pytest.mark.parametrize("fault", IGNORED)
def test_labels_that_are_not_ignored_are_seen(fault: str) -> None:
    evidence = ignores_what_is_to_be_ignored(subject(fault, with_targets(IGNORED[fault])))
    assert "labels set to -100" in evidence.problem
    assert evidence.measured["loss off by a share of"] != 0


def test_a_loss_that_does_not_reach_the_weights_is_seen() -> None:
    detached = with_targets(lambda z, y: mean(z, y).detach() + 0 * z.sum())
    evidence = ignores_what_is_to_be_ignored(subject("detached", detached))
    assert not evidence.sound


@pytest.mark.parametrize(("fill", "sound"), [(mean, False), (lambda z, y: mean(z, y).nan_to_num(), True)])
def test_a_loss_of_no_labels(fill: Faulty, sound: bool) -> None:
    evidence = all_ignored_is_defined(subject("empty", with_targets(fill)))
    assert evidence.sound == sound
    assert V > 0
