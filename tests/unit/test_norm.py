"""LayerNorm against a loop over tokens."""

import pytest
import torch

from blockproof.model.norm import NORMS
from blockproof.tests.helpers import B, D, T, randomise, tiny_config
from blockproof.tests.reference import layer_norm, weights_of


@pytest.mark.parametrize("norm_bias", [True, False])
def test_matches_the_reference(norm_bias: bool) -> None:
    norm = randomise(NORMS["layernorm"](tiny_config(norm_bias=norm_bias))).double()
    x = 3 * torch.randn(B, T, D, dtype=torch.float64) + 1
    expected = torch.from_numpy(layer_norm(x.numpy(), weights_of(norm)))
    torch.testing.assert_close(norm(x), expected, rtol=0, atol=1e-12)
    assert (norm.bias is not None) == norm_bias


def test_each_token_is_normed_by_itself() -> None:
    norm = NORMS["layernorm"](tiny_config()).double()
    x = torch.randn(B, T, D, dtype=torch.float64)
    y = norm(x)
    torch.testing.assert_close(y.mean(-1), torch.zeros(B, T, dtype=torch.float64), rtol=0, atol=1e-14)
    torch.testing.assert_close(
        y.var(-1, correction=0), torch.ones(B, T, dtype=torch.float64), rtol=0, atol=1e-4
    )
    x[0, 0] += torch.randn(D)
    assert torch.equal(norm(x)[1:], y[1:])
    assert torch.equal(norm(x)[0, 1:], y[0, 1:])
    assert not torch.equal(norm(x)[0, 0], y[0, 0])
