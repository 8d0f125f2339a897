"""Placements and residuals: every combination against its formula, and what sets each apart."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from blockproof.model.init import OutputProjection
from blockproof.model.residual import PLACEMENTS, RESIDUALS, Placement
from blockproof.model.schema import ConfigError
from blockproof.model.transformer import Block, Transformer
from blockproof.tests.helpers import B, D, T, copies, parameter, randomise, tiny_config
from blockproof.tests.oracle.transformer import lacking, sublayer
from blockproof.tests.oracle.weights import Array, linear, part, weights_of


def fields(placement: str, residual: str) -> dict[str, Any]:
    return {"norm": {"placement": placement, "eps": 1e-3}, "residual": {"kind": residual}}


def accepted(placement: str, residual: str) -> bool:
    """Whether a config may combine them: some placements need a residual."""
    try:
        tiny_config(**fields(placement, residual))
    except ConfigError:
        return False
    return True


COMBINATIONS = [pair for pair in product(PLACEMENTS, RESIDUALS) if accepted(*pair)]


def wrapped(placement: str, residual: str) -> Placement:
    return randomise(
        PLACEMENTS[placement](tiny_config(**fields(placement, residual)), nn.Linear(D, D))
    ).double()


def by_formula(layer: Placement, x: Tensor, placement: str, residual: str, silent: bool = False) -> Tensor:
    config = tiny_config(**fields(placement, residual)).to_dict()
    if reason := lacking(config):
        pytest.skip(reason)
    weights = weights_of(layer)

    def f(y: Array) -> Array:
        return np.zeros_like(y) if silent else linear(y, part(weights, "sublayer."))

    return torch.from_numpy(sublayer(x.numpy(), weights, f, config))


def stream() -> Tensor:
    return 2 * torch.randn(B, T, D, dtype=torch.float64) + 1


@pytest.mark.parametrize(("placement", "residual"), COMBINATIONS)
def test_matches_the_reference(placement: str, residual: str) -> None:
    layer, x = wrapped(placement, residual), stream()
    torch.testing.assert_close(layer(x), by_formula(layer, x, placement, residual), rtol=0, atol=1e-12)


def test_combinations_differ() -> None:
    """With the same weights."""
    x, outputs = stream(), []
    for placement, residual in COMBINATIONS:
        torch.manual_seed(0)
        layer = wrapped(placement, residual)
        if "residual.gate" in dict(layer.named_parameters()):
            nn.init.constant_(parameter(layer, "residual.gate"), 0.5)
        outputs.append(layer(x))
    assert all((a - b).abs().mean() > 0.05 for i, a in enumerate(outputs) for b in outputs[:i])


@pytest.mark.parametrize(("placement", "residual"), COMBINATIONS)
def test_with_a_silent_sublayer(placement: str, residual: str) -> None:
    """Where the stream itself is not normed and is carried past, nothing at all happens to it."""
    layer, x = wrapped(placement, residual), stream()
    for value in layer.sublayer.parameters():
        nn.init.zeros_(value)
    if placement == "sandwich":
        nn.init.zeros_(parameter(layer, "branch_norm.bias"))
    expected = by_formula(layer, x, placement, residual, silent=True)
    torch.testing.assert_close(layer(x), expected, rtol=0, atol=1e-12)
    assert torch.equal(layer(x), x) == torch.equal(expected, x)


def test_residuals_by_hand() -> None:
    x, branch = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    joined = {kind: variant(tiny_config(residual={"kind": kind})) for kind, variant in RESIDUALS.items()}
    assert joined["add"](x, branch).tolist() == [11.0, 22.0]
    assert joined["none"](x, branch).tolist() == [10.0, 20.0]
    assert joined["gated"](x, branch).tolist() == [1.0, 2.0]
    nn.init.constant_(parameter(joined["gated"], "gate"), 0.25)
    assert joined["gated"](x, branch).tolist() == [3.5, 7.0]


def test_gated_starts_as_the_identity() -> None:
    """The branches get no gradient then, the gates do."""
    config = tiny_config(residual={"kind": "gated"})
    torch.manual_seed(0)
    model = Transformer(config)
    x = torch.randn(B, T, D)
    assert torch.equal(model.blocks[0](x, model.position), x)
    model(torch.randint(config.vocab_size, (B, T))).square().mean().backward()
    for name, value in model.blocks.named_parameters():
        assert value.grad is not None
        assert (value.grad.abs().max() > 0) == name.endswith("gate"), name


@pytest.mark.parametrize("kind", ["add", "gated"])
def test_dropout_thins_what_is_carried_past(kind: str) -> None:
    residual = RESIDUALS[kind](tiny_config(residual={"kind": kind, "dropout": 0.5}))
    for gate in residual.parameters():
        nn.init.ones_(gate)  # shut as it is built, it would hide what becomes of the branch
    x, nothing = torch.ones(10, 100), torch.zeros(10, 100)
    assert residual.train()(x, nothing).unique().tolist() == [0.0, 2.0]
    assert torch.equal(residual(nothing, x), residual.eval()(nothing, x)), "the branch was dropped too"
    assert torch.equal(residual.eval()(x, nothing), x)


@pytest.mark.parametrize(("layers", "alpha", "beta"), [(12, 2.213, 0.319), (2, 4**0.25, 16**-0.25)])
def test_deepnorm_starts_smaller_and_carries_more(layers: int, alpha: float, beta: float) -> None:
    """β for values, output and feed-forward; 1 for queries and keys, embedding and biases."""
    deep = {"n_layers": layers, "init": "xavier", "norm": {"placement": "deepnorm"}}
    for attention in ("fused", "separate"):
        torch.manual_seed(0)
        scaled = Transformer(tiny_config(**deep, attention={"kind": attention}))
        torch.manual_seed(0)
        usual = Transformer(
            tiny_config(**deep | {"norm": {"placement": "post"}}, attention={"kind": attention})
        )
        drawn = copies(usual)
        for name, value in copies(scaled).items():
            factor = torch.full_like(value, beta if "sublayer" in name and value.ndim == 2 else 1.0)
            if name.endswith("qkv.weight"):
                factor[: 2 * D] = 1.0
            if ".query." in name or ".key." in name:
                factor = torch.ones_like(value)
            torch.testing.assert_close(value, drawn[name] * factor, rtol=2e-3, atol=0)  # β to three digits
    assert isinstance(scaled.blocks[0], Block)
    assert getattr(scaled.blocks[0].attention, "alpha") == pytest.approx(alpha, abs=1e-3)  # noqa: B009


def test_placements_know_the_depth_of_the_stack() -> None:
    shallow, deep = (PLACEMENTS["deepnorm"](tiny_config(n_layers=n), OutputProjection(D, D)) for n in (2, 8))
    deep.load_state_dict(shallow.state_dict())
    x = stream().float()
    assert (shallow(x) - deep(x)).abs().max() > 0.05
