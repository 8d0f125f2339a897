"""Norms against a loop over tokens, and against torch's own."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from blockproof.model.norm import NORMS
from blockproof.model.schema import ConfigError
from blockproof.tests.helpers import B, D, T, parameter, randomise, tiny_config
from blockproof.tests.oracle import norm as oracle
from blockproof.tests.oracle.weights import weights_of


def make(kind: str, **fields: Any) -> torch.nn.Module:
    return randomise(NORMS[kind](tiny_config(norm={"kind": kind} | fields))).double()


def stream() -> torch.Tensor:
    return 3 * torch.randn(B, T, D, dtype=torch.float64) + 1


@pytest.mark.parametrize("kind", NORMS)
@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_matches_the_reference(kind: str, eps: float) -> None:
    if kind not in oracle.NORMS:
        pytest.skip(f"the oracle has no formula for norm {kind!r}: add it in tests/oracle")
    norm, x = make(kind, eps=eps), stream()
    expected = torch.from_numpy(oracle.norm(x.numpy(), weights_of(norm), kind, eps))
    torch.testing.assert_close(norm(x), expected, rtol=0, atol=1e-12)


def test_rmsnorm_equals_torchs() -> None:
    """Outputs and gradients, in float32 too."""
    for dtype, tolerance in ((torch.float64, 1e-13), (torch.float32, 1e-5)):
        norm = make("rmsnorm", eps=1e-3).to(dtype)
        x, direction = stream().to(dtype).requires_grad_(), stream().to(dtype)
        gain = parameter(norm, "weight")
        ours, theirs = norm(x), F.rms_norm(x, (D,), gain, eps=1e-3)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)
        for a, b in zip(
            *(torch.autograd.grad((y * direction).sum(), [x, gain]) for y in (ours, theirs)), strict=True
        ):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=10 * tolerance)


def test_a_large_mean_leaves_the_variance_exact() -> None:
    """In float32 a difference of two numbers near 4 million would be noise."""
    norm, x = make("layernorm", eps=1e-5), stream() + 2000
    exact = norm(x.float().double())
    assert (norm.float()(x.float()) - exact).abs().max() < 1e-3


@pytest.mark.parametrize("kind", NORMS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_narrow_dtype_holds_large_numbers(kind: str, dtype: torch.dtype) -> None:
    """The square of 300 is above what float16 holds."""
    norm, x = make(kind, eps=1e-5), (100 * stream()).to(dtype)
    assert x.abs().max() > 300
    exact = norm(x.double())
    narrow = norm.to(dtype)(x)
    assert narrow.dtype == dtype
    assert (narrow.double() - exact).abs().max() < 4 * torch.finfo(dtype).eps * exact.abs().max()


@pytest.mark.parametrize(("bias", "present"), [(None, True), (True, True), (False, False)])
def test_layernorm_may_do_without_a_shift(bias: bool | None, present: bool) -> None:
    norm, x = make("layernorm", bias=bias), stream()
    assert ("bias" in dict(norm.named_parameters())) == present
    expected = torch.from_numpy(oracle.norm(x.numpy(), weights_of(norm), "layernorm", 1e-5))
    torch.testing.assert_close(norm(x), expected, rtol=0, atol=1e-12)


def test_rmsnorm_has_a_gain_alone() -> None:
    """D parameters fewer than LayerNorm."""
    assert [tuple(p.shape) for p in make("rmsnorm", bias=False).parameters()] == [(D,)]
    with pytest.raises(ConfigError, match="RMSNorm has no shift"):
        make("rmsnorm", bias=True)


def test_what_is_normed() -> None:
    """LayerNorm: mean 0, variance 1; RMSNorm: mean square 1, and no mean taken."""
    x = stream()
    layer, rms = (NORMS[kind](tiny_config()).double()(x) for kind in ("layernorm", "rmsnorm"))
    torch.testing.assert_close(layer.mean(-1), torch.zeros(B, T, dtype=torch.float64), rtol=0, atol=1e-14)
    ones = torch.ones(B, T, dtype=torch.float64)
    torch.testing.assert_close(layer.var(-1, correction=0), ones, rtol=0, atol=1e-4)
    torch.testing.assert_close(rms.square().mean(-1), ones, rtol=0, atol=1e-4)
    assert (rms / x).std(dim=-1).max() < 1e-14  # each token keeps its direction


@pytest.mark.parametrize("kind", NORMS)
def test_each_token_is_normed_by_itself(kind: str) -> None:
    norm, x = make(kind), stream()
    y = norm(x)
    x[0, 0] += torch.randn(D)
    assert torch.equal(norm(x)[1:], y[1:])
    assert torch.equal(norm(x)[0, 1:], y[0, 1:])
    assert not torch.equal(norm(x)[0, 0], y[0, 0])
