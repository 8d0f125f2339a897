"""The feed-forward against its formula, with the exact GELU."""

import pytest
import torch
import torch.nn.functional as F

from blockproof.model.feedforward import FEEDFORWARDS, GELUFeedForward
from blockproof.tests.helpers import B, D, T, randomise, tiny_config
from blockproof.tests.reference import feedforward, weights_of


def make(**overrides: float | bool) -> GELUFeedForward:
    module = FEEDFORWARDS["gelu"](tiny_config(**overrides))
    assert isinstance(module, GELUFeedForward)
    return randomise(module, 0.5).double().eval()


def stream() -> torch.Tensor:
    return torch.randn(B, T, D, dtype=torch.float64)


@pytest.mark.parametrize("bias", [True, False])
def test_matches_the_reference(bias: bool) -> None:
    module, x = make(bias=bias), stream()
    expected = torch.from_numpy(feedforward(x.numpy(), weights_of(module)))
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-12)
    hidden = module.up(x)
    assert (module.down(F.gelu(hidden, approximate="tanh")) - expected).abs().max() > 1e-5  # would be seen
    assert hidden.shape == (B, T, 4 * D)


def test_places_do_not_meet() -> None:
    module, x = make(), stream()
    changed = x.clone()
    changed[1, 2] += 1
    moved = (module(changed) != module(x)).any(dim=-1)
    assert moved.nonzero().tolist() == [[1, 2]]


def test_dropout_drops_or_doubles_in_training_alone() -> None:
    module, x = make(dropout=0.5), stream()
    quiet = module(x)
    assert torch.equal(quiet, module.down(F.gelu(module.up(x))))
    factors = module.train()(x) / quiet
    assert set(factors.round().unique().tolist()) == {0.0, 2.0}
    assert 0.35 < (factors > 1).double().mean() < 0.65  # 420 draws: ±6 standard deviations
