"""The model as built: right ones pass, and each planted fault is named."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.tests.checks.disturbing import set_dropout
from blockproof.tests.checks.evidence import LackingError
from blockproof.tests.checks.registered import everything_is_registered
from blockproof.tests.checks.start import (
    ABOVE,
    every_parameter_learns,
    finite_in_bfloat16,
    initial_loss,
)
from blockproof.tests.helpers import D, T, V
from blockproof.tests.unit.checks.models import RIGHT, Cached, Encoder, NanoGPT, Small, of

Words = dict[type[nn.Module], str]
CHECKS = initial_loss, every_parameter_learns, everything_is_registered, finite_in_bfloat16


@pytest.mark.parametrize("name", RIGHT)
def test_right_models_pass(name: str) -> None:
    for check in CHECKS:
        assert check(of(RIGHT[name])).problem == ""


WIDE: dict[str, dict[str, Any]] = {
    "gates that are shut": {"residual.kind": "gated"},
    "sinusoids": {"position": "sinusoidal", "init": "xavier"},
    "post-norm": {"norm.placement": "post", "norm.final": False, "init": "xavier"},
}


@pytest.mark.parametrize("name", WIDE)
def test_a_tied_head_may_favour_the_last_token(name: str) -> None:
    """In wide models of a small vocabulary, right weights start the loss nats above ln V."""
    evidence = initial_loss(of(lambda: Small(**{"d_model": 384, **WIDE[name]})))
    assert evidence.problem == ""
    assert float(evidence.measured["loss"]) > math.log(V) + ABOVE


class UnitEmbedding(NanoGPT):
    """nn.Embedding's own N(0, 1), tied to the head."""

    def __init__(self) -> None:
        super().__init__()
        nn.init.normal_(self.wte.weight)


class UnitHead(Encoder):
    def __init__(self) -> None:
        super().__init__()
        nn.init.normal_(self.head.weight)


class Summed(NanoGPT):
    def forward(self, idx: Tensor, targets: Any = None) -> Any:
        logits, loss = super().forward(idx, targets)
        return logits, None if loss is None else loss * targets.numel()


class Nan(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) * torch.nan


class SeesTargets(NanoGPT):
    def forward(self, idx: Tensor, targets: Any = None) -> Any:
        logits, loss = super().forward(idx, targets)
        if targets is not None:
            loss = F.cross_entropy((logits + 2 * F.one_hot(targets, V)).flatten(0, 1), targets.flatten())
        return logits, loss


START: Words = {
    UnitEmbedding: "logits are too large",
    UnitHead: "logits are too large",
    Summed: "losses are summed",
    Nan: "the loss starts at nan",
    SeesTargets: "it sees its targets",
}


@pytest.mark.parametrize("fault", START)
def test_sees_where_the_loss_starts(fault: type[nn.Module]) -> None:
    assert START[fault] in initial_loss(of(fault)).problem


class UnusedLayer(NanoGPT):
    def __init__(self) -> None:
        super().__init__()
        self.extra = nn.Linear(D, D)


class Detached(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        return self.ln_f(self.h[1](self.h[0](x).detach()))


class TimesNothing(NanoGPT):
    """Adds positions multiplied by 0."""

    def features(self, idx: Tensor) -> Tensor:
        x = self.wte(idx) + 0.0 * self.wpe(torch.arange(idx.shape[1]))
        return self.ln_f(self.h[1](self.h[0](x)))


class NoGradient(NanoGPT):
    @torch.no_grad()
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx)


class AllDetached(NanoGPT):
    def forward(self, idx: Tensor, targets: Any = None) -> Any:
        logits, loss = super().forward(idx, targets)
        return logits, None if loss is None else loss.detach()


class InfiniteSlope(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) + (self.wpe.weight - self.wpe.weight).sqrt().sum()


LEARNING: Words = {
    UnusedLayer: "2 of 30 parameters do not learn: extra.weight is not used in the forward; extra.bias is not",
    Detached: "wpe.weight is used, but cut off from the loss; h.0.ln_1.weight is used",
    TimesNothing: "1 of 28 parameters do not learn: wpe.weight is not used in the forward",
    NoGradient: "27 of 28 parameters do not learn",
    AllDetached: "28 of 28 parameters do not learn",
    InfiniteSlope: "wpe.weight has a gradient that is not finite",
}


@pytest.mark.parametrize("fault", LEARNING)
def test_sees_what_does_not_learn(fault: type[nn.Module]) -> None:
    assert LEARNING[fault] in every_parameter_learns(of(fault)).problem


class AddWithoutGradient(torch.autograd.Function):
    """Adds, and hides the rounding that a gradient of 0 would else be."""

    @staticmethod
    def forward(context: Any, k: Tensor, bias: Tensor) -> Tensor:
        return k + bias

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Any:
        return gradient, torch.zeros(D // 2, dtype=gradient.dtype)


class KeyBias(NanoGPT):
    """Has a bias of the keys apart, whose gradient is exactly 0: softmax takes no notice of it."""

    def __init__(self) -> None:
        super().__init__()
        self.key_bias = nn.Parameter(torch.zeros(D // 2))
        attention: Any
        for attention in (block.attn for block in self.h):
            attention.heads = lambda x, heads=attention.heads: self.biased(*heads(x))

    def biased(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        return q, AddWithoutGradient.apply(k, self.key_bias), v


def test_a_parameter_without_effect_needs_no_gradient() -> None:
    evidence = every_parameter_learns(of(KeyBias))
    assert evidence.problem == ""
    assert "key_bias" in str(evidence.measured["of these without effect, as a key's bias"])


def test_tells_what_is_shut_as_built_and_what_is_frozen() -> None:
    def frozen() -> nn.Module:
        model = Small(**{"residual.kind": "gated"})
        model.net.norm.weight.requires_grad_(False)
        return model

    measured = every_parameter_learns(of(frozen)).measured
    assert (measured["trained"], measured["frozen"]) == (31, 1)
    assert measured["gradient of 0 as built"] == 24


class InAList(NanoGPT):
    def __init__(self) -> None:
        super().__init__()
        blocks: Any = list(self.h)
        del self.h
        self.h = blocks
        set_dropout(nn.ModuleList(blocks), 0.0)  # eval() does not reach them


class OfOneSeed(InAList):
    """Draws the same weights whatever the seed is."""

    def __init__(self) -> None:
        torch.manual_seed(7)
        super().__init__()


class RandomTable(NanoGPT):
    """Draws a table that is neither parameter nor buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.randn(T, D)

    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) + self.table[: idx.shape[1]]


class Closure(NanoGPT):
    """A copy of it goes on using the blocks of the original."""

    def __init__(self) -> None:
        super().__init__()
        block = self.h[0]
        self.run = lambda x: block(self.drop(x))

    def features(self, idx: Tensor) -> Tensor:
        return self.ln_f(self.run(self.wte(idx)))


class Unloadable(NanoGPT):
    def __init__(self) -> None:
        super().__init__()
        self.register_load_state_dict_pre_hook(self.refuse)

    def refuse(self, *_: Any) -> None:
        raise ZeroDivisionError("no state")


class ByDtype(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        x = super().features(idx)
        return x if x.dtype == torch.float32 else x / 2


REGISTERED: Words = {
    InAList: "h is no part of the state: with another's loaded, logits differ (0.",
    OfOneSeed: "h is not registered",
    RandomTable: "something is no part of the state",
    Closure: "a deep copy changes with the original",
    Unloadable: "logits differ (ZeroDivisionError",
    ByDtype: "in float64 the logits differ from float32 by 0.5",
}


@pytest.mark.parametrize("fault", REGISTERED)
def test_sees_what_is_not_registered(fault: type[nn.Module]) -> None:
    evidence = everything_is_registered(of(fault))
    assert REGISTERED[fault] in evidence.problem
    assert (evidence.measured["not registered"] == "h") == issubclass(fault, InAList)


class LogOfRounded(NanoGPT):
    """1 - 0.9997 is 0 in bfloat16."""

    def features(self, idx: Tensor) -> Tensor:
        x = super().features(idx)
        return x + (1 - torch.full_like(x, 8.0).sigmoid()).log()


class Blank(Cached):
    """In bfloat16 the smallest float32 is -inf: a row of which all is masked has no softmax."""

    def keep(self, rows: int, begin: int, end: int, mask: Tensor | None) -> Tensor:
        places = torch.arange(end)
        keep = (places <= places[begin:, None]) & (
            torch.ones(rows, 1, end) if mask is None else mask[:, None]
        ).bool()
        bias = torch.zeros(keep.shape).masked_fill(~keep, torch.finfo(torch.float32).min)
        return bias[:, None].to(self.wte.weight.dtype)

    def attend(self, block: Any, x: Tensor, keep: Tensor, past: Any) -> tuple[Tensor, Any]:
        q, k, v = block.attn.heads(block.ln_1(x))
        y = (q @ k.mT + keep).softmax(dim=-1) @ v
        x = x + block.attn.c_proj(y.transpose(1, 2).flatten(2))
        return x + block.mlp(block.ln_2(x)), (k, v)


@pytest.mark.parametrize("fault", [LogOfRounded, Nan, Blank])
def test_sees_what_is_not_finite_in_bfloat16(fault: type[nn.Module]) -> None:
    assert "in bfloat16 are infinite or NaN" in finite_in_bfloat16(of(fault)).problem


def test_a_model_that_does_not_take_bfloat16_is_not_judged() -> None:
    class Wide(NanoGPT):
        def features(self, idx: Tensor) -> Tensor:
            return super().features(idx).float()

    with pytest.raises(LackingError, match="does not run in bfloat16"):
        finite_in_bfloat16(of(Wide))


def test_one_token_of_context_is_not_judged() -> None:
    for check in (initial_loss, every_parameter_learns):
        with pytest.raises(LackingError, match="one token"):
            check(of(lambda: Small(context=1)))
