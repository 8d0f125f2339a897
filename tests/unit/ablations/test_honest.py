"""The honest loss is that of a model which is told the past alone."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.ablations.honest import honest_loss
from blockproof.model.evaluate import evaluate
from blockproof.model.labels import shift
from blockproof.tests.helpers import B, T, V, tiny_ids, tiny_model


class Peek(nn.Module):
    """Gives the next token where it can see it, and knows nothing where it cannot."""

    def forward(self, ids: Tensor) -> Tensor:
        sure = 50.0 * F.one_hot(ids[:, 1:], V)
        return torch.cat([sure, torch.zeros(len(ids), 1, V)], dim=1)


def test_what_sees_the_future_finds_none() -> None:
    batch = shift(tiny_ids(length=T + 1))
    assert honest_loss(Peek(), batch) == pytest.approx(math.log(V))


@pytest.mark.parametrize("first", [1, 3])
def test_of_a_sound_model_it_is_the_loss_on_whole_windows(first: int) -> None:
    """Also where some targets ask for nothing; dropout is off."""
    model = tiny_model(attention={"dropout": 0.5}).train()
    batch = shift(tiny_ids(length=T + 1), first_target=first)
    assert batch.targets.shape == (B, T)
    assert honest_loss(model, batch) == pytest.approx(evaluate(model, batch), rel=1e-6)
