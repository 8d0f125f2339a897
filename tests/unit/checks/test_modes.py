"""Dropout and modes: right models pass, and each planted fault is named."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.tests.checks.disturbing import disturb, set_dropout
from blockproof.tests.checks.evidence import LackingError
from blockproof.tests.checks.modes import (
    eval_is_deterministic,
    generation_leaves_no_trace,
    training_drops,
)
from blockproof.tests.helpers import D
from blockproof.tests.unit.checks.models import RIGHT, Attention, Encoder, NanoGPT, Small, of

Words = dict[type[nn.Module], str]


@pytest.mark.parametrize("name", RIGHT)
def test_right_models_pass(name: str) -> None:
    evidence = eval_is_deterministic(of(RIGHT[name]))
    assert evidence.problem == ""
    assert float(evidence.measured["dropout rates set"]) >= 3
    assert training_drops(of(RIGHT[name])).problem == ""


class ByHand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rate, self.on = 0.25, 0


class Dropout(ByHand):
    """As it is written by hand: only the class's name tells what its rate is of."""


def test_sets_every_rate_and_nothing_else() -> None:
    model = nn.ModuleList([Encoder(), nn.Dropout2d(0), Attention(), Dropout(), ByHand()])
    rest: Any = model[2]
    rest.resid_pdrop, rest.dropout_rate, rest.drop_last, rest.dropped_at = 0.0, 0, True, 4.0
    # two layers of torch's, each with one rate in its attention and three dropout layers
    assert set_dropout(model, 0.5) == 2 * 4 + 1 + 3 + 1
    assert rest.resid_pdrop == rest.dropout_rate == rest.dropout == 0.5
    assert (rest.drop_last, rest.dropped_at) == (True, 4.0)
    assert [(part.rate, part.on) for part in model if isinstance(part, ByHand)] == [(0.5, 0), (0.25, 0)]


def test_disturbs_every_trained_parameter() -> None:
    model = Small(**{"residual.kind": "gated"}).double()
    model.net.norm.weight.requires_grad_(False)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    disturb(model)
    for name, parameter in model.named_parameters():
        assert bool((parameter != before[name]).all()) == (name != "net.norm.weight")


class Functional(NanoGPT):
    """``F.dropout`` is in train mode, unless it is told."""

    def features(self, idx: Tensor) -> Tensor:
        return F.dropout(super().features(idx), self.drop.p)


class FixedRate(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return F.dropout(super().features(idx), 0.1)


class AlwaysInAttention(NanoGPT):
    """The fused kernel does not know the mode."""

    def __init__(self) -> None:
        super().__init__()
        attention: Any
        for attention in (block.attn for block in self.h):
            attention.rate = lambda attention=attention: attention.dropout


class AlwaysBehindAGate(Functional):
    """As built, nothing of it can be seen."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(()))

    def features(self, idx: Tensor) -> Tensor:
        return NanoGPT.features(self, idx) + self.gate * super().features(idx)


@pytest.mark.parametrize("fault", [Functional, FixedRate, AlwaysInAttention, AlwaysBehindAGate])
def test_sees_dropout_in_eval_mode(fault: type[nn.Module]) -> None:
    evidence = eval_is_deterministic(of(fault))
    assert "two forwards in eval mode differ" in evidence.problem
    assert "self.training" in evidence.remedy


class ScaledInEval(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) * (1 if self.training else 1 - self.drop.p)


def test_sees_a_rate_that_is_read_in_eval_mode() -> None:
    assert "its rate is still read" in eval_is_deterministic(of(ScaledInEval)).problem


class EvalInForward(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        self.h.eval()
        return super().features(idx)


class EvalAfterwards(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        x = super().features(idx)
        self.eval()
        return x


class Unused(NanoGPT):
    """Has dropout, and does not call it."""

    def features(self, idx: Tensor) -> Tensor:
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        return x.cumsum(dim=1)


class OffForGood(NanoGPT):
    """Its first forward in eval mode switches dropout off."""

    def features(self, idx: Tensor) -> Tensor:
        if not self.training:
            set_dropout(self, 0.0)
        return super().features(idx)


TRAINING: Words = {
    EvalInForward: "leaves 23 modules in eval mode",
    EvalAfterwards: "modules in eval mode",
    Unused: "it does not act",
    OffForGood: "dropout stays off",
}


@pytest.mark.parametrize("fault", TRAINING)
def test_sees_dropout_that_does_not_act(fault: type[nn.Module]) -> None:
    assert TRAINING[fault] in training_drops(of(fault)).problem


class Linear(nn.Module):
    vocab_size = D

    def __init__(self) -> None:
        super().__init__()
        self.table, self.dropout = nn.Embedding(D, D), 0.0

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids)


def test_training_needs_dropout() -> None:
    assert eval_is_deterministic(of(Linear)).sound
    with pytest.raises(LackingError, match="no dropout"):
        training_drops(of(Linear))


class Greedy(NanoGPT):
    """Decodes well: greedily if it is asked to, and puts the mode back."""

    def pick(self, probabilities: Tensor, do_sample: bool) -> Tensor:
        return torch.multinomial(probabilities, 1) if do_sample else probabilities.argmax(-1, keepdim=True)

    def generate(self, idx: Tensor, max_new_tokens: int, do_sample: bool = False) -> Tensor:  # type: ignore[override]
        training = self.training
        self.eval()
        for _ in range(max_new_tokens):
            idx = torch.cat([idx, self.pick(self(idx)[0][:, -1].softmax(-1), do_sample)], dim=1)
        self.train(training)
        return idx


@pytest.mark.parametrize(("build", "word"), [(Greedy, "kept"), (NanoGPT, "not judged: it samples")])
def test_generation_without_a_fault(build: type[nn.Module], word: str) -> None:
    evidence = generation_leaves_no_trace(of(build))
    assert evidence.problem == ""
    assert evidence.measured["random state"] == word


class NeverBack(NanoGPT):
    def generate(self, idx: Tensor, max_new_tokens: int) -> Tensor:  # type: ignore[override]
        self.eval()
        return super().generate(idx, max_new_tokens)


class AlwaysBack(NanoGPT):
    """Goes back to train mode, wherever it came from; called by place alone."""

    def generate(self, ids: Tensor, number: int, /) -> Tensor:  # type: ignore[override]
        self.eval()
        ids = super().generate(ids, number)
        self.train()
        return ids


class Reseeded(Greedy):
    def pick(self, probabilities: Tensor, do_sample: bool) -> Tensor:
        torch.manual_seed(3)
        return super().pick(probabilities, do_sample)


class DrawsAnyway(Greedy):
    def pick(self, probabilities: Tensor, do_sample: bool) -> Tensor:
        torch.multinomial(probabilities, 1)
        return super().pick(probabilities, do_sample)


GENERATION: Words = {
    NeverBack: "modules in the other mode when called in train mode",
    AlwaysBack: "modules in the other mode when called in eval mode",
    Reseeded: "moves torch's random state, though it is greedy",
    DrawsAnyway: "moves torch's random state, though it is greedy",
}


@pytest.mark.parametrize("fault", GENERATION)
def test_sees_what_generation_leaves(fault: type[nn.Module]) -> None:
    assert GENERATION[fault] in generation_leaves_no_trace(of(fault)).problem


class Strange(NanoGPT):
    def generate(self, *, prompt: str) -> str:  # type: ignore[override]
        return prompt


def test_generation_that_cannot_be_called() -> None:
    with pytest.raises(LackingError, match="no generate"):
        generation_leaves_no_trace(of(Encoder))
    with pytest.raises(LackingError, match="takes none of the usual arguments: TypeError"):
        generation_leaves_no_trace(of(Strange))


class Nan(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) * torch.nan


def test_nan_is_a_fault() -> None:
    assert "two forwards in eval mode differ by nan" in eval_is_deterministic(of(Nan)).problem
    assert "forwards in train mode differ by nan" in training_drops(of(Nan)).problem
