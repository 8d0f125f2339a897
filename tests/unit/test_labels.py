"""The shift and the loss, by hand."""

import math

import pytest
import torch

from blockproof.model.labels import IGNORE, cross_entropy, shift

WINDOWS = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])


def test_shift_by_hand() -> None:
    inputs, targets = shift(WINDOWS)
    assert inputs.tolist() == [[1, 2, 3], [5, 6, 7]]
    assert targets.tolist() == [[2, 3, 4], [6, 7, 8]]


@pytest.mark.parametrize("first", [1, 2, 3])
def test_early_targets_are_ignored(first: int) -> None:
    inputs, targets = shift(WINDOWS, first_target=first)
    for row, window in zip(targets.tolist(), WINDOWS.tolist(), strict=True):
        assert row == [IGNORE] * (first - 1) + window[first:]
    assert inputs.tolist() == [[1, 2, 3], [5, 6, 7]]


def test_windows_are_left_as_they_are() -> None:
    windows = WINDOWS.clone()
    shift(windows, first_target=3)
    assert torch.equal(windows, WINDOWS)


@pytest.mark.parametrize(("reduction", "expected"), [("sum", 1.0), ("mean", 1 / 3)])
def test_cross_entropy_by_hand(reduction: str, expected: float) -> None:
    """Probabilities 1/2, 1/4 and 1/8 for what came; the fourth target is ignored."""
    p = torch.tensor([[[0.5, 0.5, 0.0], [0.25, 0.0, 0.75]], [[0.0, 0.125, 0.875], [0.9, 0.1, 0.0]]])
    targets = torch.tensor([[0, 0], [1, IGNORE]])
    loss = cross_entropy(p.double().log().clamp(min=-1e6), targets, reduction)
    assert loss.item() == pytest.approx(expected * math.log(2 * 4 * 8), rel=1e-7)


def test_the_mean_of_no_targets_is_zero_and_pulls_at_nothing() -> None:
    logits = torch.randn(2, 3, 5, requires_grad=True)
    loss = cross_entropy(logits, torch.full((2, 3), IGNORE))
    loss.backward()
    assert loss.item() == 0.0
    assert logits.grad is not None
    assert (logits.grad == 0).all()


def test_the_mean_equals_torchs_to_the_bit() -> None:
    """Loss and gradient, with some targets ignored."""
    logits, targets = torch.randn(7, 5, 11), torch.randint(11, (7, 5))
    targets[torch.rand(7, 5) < 0.3] = IGNORE
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    a = cross_entropy(ours, targets)
    b = torch.nn.functional.cross_entropy(theirs.flatten(0, 1), targets.flatten(), ignore_index=IGNORE)
    a.backward()
    b.backward()
    assert torch.equal(a, b)
    assert torch.equal(torch.as_tensor(ours.grad), torch.as_tensor(theirs.grad))
