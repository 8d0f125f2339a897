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
