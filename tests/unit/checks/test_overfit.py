"""The model ends at the exact floor of a tiny batch; what is broken ends above it or below it."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model import labels
from blockproof.model.transformer import Transformer
from blockproof.tests.checks.controls import (
    BagOfPrefix,
    Bigram,
    Peek,
    Unmasked,
    double_shift_loss,
    unshifted_loss,
)
from blockproof.tests.checks.overfit import BAND, ROUNDING, bag, last_token, loss_floor, overfit, twins
from blockproof.tests.helpers import dropping, merged, tiny_config

TWINS = twins()
V, CONTEXT, FLOOR = 10, 8, loss_floor(TWINS)


def learner(**overrides: Any) -> Transformer:
    """A model that fits the batch; N(0, 0.02²) would be far too small for this width."""
    usual = {"vocab_size": V, "context": CONTEXT, "d_model": 32, "init": "torch", "attention": {"n_heads": 4}}
    return Transformer(tiny_config(**merged(usual, overrides)))


def training_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """As ``train`` computes it."""
    batch = labels.shift(tokens)
    return labels.cross_entropy(model(batch.inputs), batch.targets)


def test_model_ends_at_the_floor(ablated: dict[str, Any]) -> None:
    evidence = overfit(learner(**dropping(**ablated)), training_loss)
    assert evidence.verdict == "at the floor"
    assert FLOOR - ROUNDING <= evidence.final <= FLOOR + BAND
    assert evidence.curve[0] > FLOOR + 1.0  # it had something to learn


def test_floors_are_right_and_well_apart() -> None:
    """All sequences differ and start alike, so their likelihoods multiply to 1/16 each."""
    B, window = TWINS.shape
    assert len(set(map(tuple, TWINS.tolist()))) == B == 16
    assert pytest.approx(math.log(B) / (window - 1), abs=1e-12) == FLOOR
    assert loss_floor(TWINS, bag) > FLOOR + 0.05
    assert loss_floor(TWINS, last_token) > loss_floor(TWINS, bag) + 0.05
    assert loss_floor(TWINS, ahead=2) > FLOOR + 2 * BAND
    assert loss_floor(TWINS, ahead=0) == 0.0


def test_floor_by_hand() -> None:
    tokens = torch.tensor([[0, 1, 0, 2], [0, 1, 0, 3], [0, 1, 3, 3], [2, 0, 1, 1]])
    after_010, after_01 = 2 * math.log(2), 2 * math.log(3 / 2) + math.log(3)
    assert loss_floor(tokens) == pytest.approx((after_010 + after_01) / 12)
    # after 0: 1 1 1 1 2 3; after 1: 0 0 3 1; after 2: 0; after 3: 3
    after_0, after_1 = 4 * math.log(6 / 4) + 2 * math.log(6), 2 * math.log(2) + 2 * math.log(4)
    assert loss_floor(tokens, last_token) == pytest.approx((after_0 + after_1) / 12)


BELOW = {
    "no causal mask": lambda: overfit(Unmasked(V, CONTEXT)),
    "mask off by one": lambda: overfit(Peek(learner(), V)),
    "shift missing": lambda: overfit(learner(), unshifted_loss),
}


@pytest.mark.parametrize("fault", BELOW)
def test_a_leak_ends_below_the_floor(fault: str) -> None:
    evidence = BELOW[fault]()
    assert evidence.verdict.startswith("below the floor")
    assert evidence.final < FLOOR / 2


def test_our_model_without_its_mask_ends_below_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = F.scaled_dot_product_attention

    def unmasked(q: Tensor, k: Tensor, v: Tensor, mask: None, **usual: Any) -> Tensor:
        return fused(q, k, v, **usual | {"is_causal": False})

    monkeypatch.setattr(F, "scaled_dot_product_attention", unmasked)
    assert overfit(learner(), training_loss).verdict.startswith("below the floor")


ABOVE = {
    "double shift": (lambda: overfit(learner(), double_shift_loss), loss_floor(TWINS, ahead=2)),
    "bigram": (lambda: overfit(Bigram(V), lr=0.1), loss_floor(TWINS, last_token)),
    "bag of prefix": (lambda: overfit(BagOfPrefix(V)), loss_floor(TWINS, bag)),
    "one layer without position": (
        lambda: overfit(learner(n_layers=1, position="none")),
        loss_floor(TWINS, bag),
    ),
}


@pytest.mark.parametrize("fault", ABOVE)
def test_a_blind_model_ends_above_the_floor_at_its_own(fault: str) -> None:
    run, own_floor = ABOVE[fault]
    evidence = run()
    assert evidence.verdict.startswith("above the floor")
    assert own_floor - ROUNDING <= evidence.final <= own_floor + BAND


def test_nan_is_not_the_floor() -> None:
    evidence = overfit(learner(), lambda model, tokens: training_loss(model, tokens) * torch.nan, steps=2)
    assert evidence.verdict.startswith("above the floor")
