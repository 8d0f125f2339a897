"""Feed-forwards against their formulas, and the width of a gated one that is to be matched."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from blockproof.model.config import ModelConfig
from blockproof.model.count import count
from blockproof.model.feedforward import FEEDFORWARDS, FeedForward
from blockproof.model.schema import ConfigError
from blockproof.tests.helpers import B, D, T, randomise, tiny_config
from blockproof.tests.oracle import feedforward as oracle
from blockproof.tests.oracle.weights import weights_of

KINDS = [kind for kind in FEEDFORWARDS if kind != "none"]
each_kind = pytest.mark.parametrize("kind", KINDS)


def config(kind: str, **fields: Any) -> ModelConfig:
    return tiny_config(feedforward={"kind": kind, "width": 20} | fields)


def make(kind: str, **fields: Any) -> FeedForward:
    variant = FEEDFORWARDS[kind]
    assert variant is not None
    return randomise(variant(config(kind, **fields)), 0.5).double().eval()


def stream() -> torch.Tensor:
    return torch.randn(B, T, D, dtype=torch.float64)


@each_kind
@pytest.mark.parametrize("bias", [True, False])
def test_matches_the_reference(kind: str, bias: bool) -> None:
    if kind not in oracle.FEEDFORWARDS:
        pytest.skip(f"the oracle has no formula for feed-forward {kind!r}: add it in tests/oracle")
    module, x = make(kind, bias=bias), stream()
    expected = torch.from_numpy(oracle.FEEDFORWARDS[kind](x.numpy(), weights_of(module)))
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-12)


@each_kind
@pytest.mark.parametrize("bias", [True, False])
def test_biases_are_left_out_when_told(kind: str, bias: bool) -> None:
    matrices = {name for name, value in make(kind, bias=bias).named_parameters() if value.ndim == 2}
    biases = {name for name, value in make(kind, bias=bias).named_parameters() if value.ndim == 1}
    assert biases == ({name.replace("weight", "bias") for name in matrices} if bias else set())


def test_gelu_is_the_exact_one() -> None:
    module, x = make("gelu"), stream()
    approximate = module.down(F.gelu(module.up(x), approximate="tanh"))
    assert (module(x) - approximate).abs().max() > 1e-5


@each_kind
def test_places_do_not_meet(kind: str) -> None:
    module, x = make(kind), stream()
    changed = x.clone()
    changed[1, 2] += 1
    moved = (module(changed) != module(x)).any(dim=-1)
    assert moved.nonzero().tolist() == [[1, 2]]


@each_kind
def test_dropout_drops_or_doubles_in_training_alone(kind: str) -> None:
    module, x = make(kind, dropout=0.5), stream()
    quiet = module(x)
    assert torch.equal(quiet, module(x))
    factors = module.train()(x) / quiet
    assert set(factors.round().unique().tolist()) == {0.0, 2.0}
    assert 0.35 < (factors > 1).double().mean() < 0.65  # 420 draws: ±6 standard deviations


@each_kind
def test_a_stated_width_is_honoured(kind: str) -> None:
    assert config(kind).d_ff == 20
    assert make(kind).down.weight.shape == (D, 20)


def test_usual_widths() -> None:
    assert [tiny_config(feedforward={"kind": kind}).d_ff for kind in ("gelu", "relu", "silu", "none")] == [
        4 * D, 4 * D, 4 * D, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("d_model", [32, 33, 64, 100, 768, 4096])
def test_swiglu_is_matched_in_parameters(d_model: int, bias: bool) -> None:
    """No other whole width comes closer; the difference is below 0.6 %, and 0 for a multiple of 3 without bias."""

    def parameters(kind: str, width: int | None = None) -> int:
        fields = {"kind": kind, "bias": bias, "width": width}
        wide = tiny_config(d_model=d_model, attention={"n_heads": 1}, feedforward=fields)
        return count(wide).parts["feed-forward"]

    target, width = parameters("gelu"), tiny_config(
        d_model=d_model, attention={"n_heads": 1}, feedforward={"kind": "swiglu", "bias": bias}
    ).d_ff  # fmt: skip
    distance = {w: abs(parameters("swiglu", w) - target) for w in (width - 1, width, width + 1)}
    assert min(distance, key=lambda w: distance[w]) == width
    assert parameters("swiglu") == parameters("swiglu", width)
    assert distance[width] < 0.006 * target
    assert math.isclose(width, 8 * d_model / 3, rel_tol=0.02)
    if d_model % 3 == 0 and not bias:
        assert distance[width] == 0


def test_swiglu_is_not_matched_below_its_size() -> None:
    small = {"d_model": 31, "attention": {"n_heads": 1}}
    with pytest.raises(
        ConfigError, match=r"at d_model 31 no whole width.*set feedforward.width, or d_model to 32"
    ):
        tiny_config(**small, feedforward={"kind": "swiglu"})
    assert tiny_config(**small, feedforward={"kind": "swiglu", "width": 80}).d_ff == 80
