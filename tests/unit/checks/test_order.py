"""Order and positions: right models pass, and each planted fault is named."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from blockproof.tests.checks.evidence import LackingError
from blockproof.tests.checks.order import WORD, order
from blockproof.tests.helpers import D, T, V
from blockproof.tests.unit.checks.models import RIGHT, Lecture, NanoGPT, Small, of

BLIND = {
    "ours, one layer without positions": "it cannot tell order",
    "ours, no attention": "no token of the past matters",
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_models_pass(name: str) -> None:
    evidence = order(of(RIGHT[name]))
    assert evidence.problem == ""
    assert evidence.measured["order"] == BLIND.get(name, "told")


@pytest.mark.parametrize("position", ["learned", "sinusoidal", "rope", "alibi", "t5"])
def test_one_layer_with_positions_tells_order(position: str) -> None:
    evidence = order(of(lambda: Small(**{"n_layers": 1, "position": position})))
    assert evidence.problem == ""
    assert min(value for value in evidence.measured.values() if isinstance(value, float)) > 1e-5


def test_more_layers_without_positions_tell_order_by_the_mask() -> None:
    evidence = order(of(lambda: Small(position="none")))
    assert (evidence.problem, evidence.measured["order"]) == ("", "told")
    assert evidence.measured["tensors of positions"] == 0


class TimesNothing(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        x = self.wte(idx) + 0.0 * self.wpe(torch.arange(idx.shape[1]))
        return self.ln_f(self.h[1](self.h[0](x)))


class NotAdded(NanoGPT):
    """Its positions are a table of another name, known by its rows."""

    def __init__(self) -> None:
        super().__init__()
        self.where = self.wpe
        del self.wpe

    def features(self, idx: Tensor) -> Tensor:
        return self.ln_f(self.h[1](self.h[0](self.wte(idx))))


class UnusedBuffer(NotAdded):
    """Waves in a buffer that is not read."""

    def __init__(self) -> None:
        super().__init__()
        del self.where
        self.register_buffer("pos_table", torch.randn(T, D))


class AfterAttention(Lecture):
    """Adds positions where no token can see those of another."""

    def __init__(self) -> None:
        super().__init__()
        self.late = self.position
        self.position = nn.Embedding.from_pretrained(torch.zeros(T, D))

    def forward(self, idx: Tensor, targets: Any = None) -> Any:
        logits, _ = super().forward(idx)
        return logits + self.lm_head(self.late(torch.arange(idx.shape[1]))), None


class RotaryEmbedding(nn.Module):
    """Has no tensor to be known by."""


class NotRotated(Small):
    def __init__(self) -> None:
        super().__init__(n_layers=1, position="none")
        self.turn = RotaryEmbedding()


ONE_AND_ALL = [TimesNothing, NotAdded, UnusedBuffer, AfterAttention, NotRotated]


@pytest.mark.parametrize("fault", ONE_AND_ALL)
def test_sees_positions_that_are_not_used(fault: type[nn.Module]) -> None:
    evidence = order(of(fault))
    assert evidence.problem.startswith("positions are built and not used: ")
    assert ("moves no logit by a bit" in evidence.problem) == (fault in ONE_AND_ALL[:3])


class KeepsWaves(NanoGPT):
    """Works waves out from a buffer in its first forward, and keeps them."""

    def __init__(self) -> None:
        super().__init__()
        del self.wpe
        self.register_buffer("inv_freq", torch.rand(D))
        self.kept: Tensor | None = None

    def features(self, idx: Tensor) -> Tensor:
        if self.kept is None:
            self.kept = (torch.arange(T)[:, None] * self.get_buffer("inv_freq")).sin()
        x = self.wte(idx) + self.kept[: idx.shape[1]]
        return self.ln_f(self.h[1](self.h[0](x)))


def test_tables_that_are_kept_are_in_use() -> None:
    evidence = order(of(KeepsWaves))
    assert (evidence.problem, evidence.measured["tensors of positions"]) == ("", 1)


def test_words_that_speak_of_positions() -> None:
    yes = (
        "pos",
        "position",
        "positional",
        "positions",
        "pe",
        "wpe",
        "posemb",
        "rope",
        "rotary",
        "freqs",
        "alibi",
    )
    assert all(WORD.fullmatch(word) for word in yes)
    assert not any(
        WORD.fullmatch(word) for word in ("post", "posterior", "positive", "properties", "possible", "type")
    )


class Nan(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) * torch.nan


def test_nan_is_a_fault() -> None:
    assert order(of(Nan)).problem == "logits are NaN"


def test_two_tokens_have_no_order() -> None:
    with pytest.raises(LackingError, match="two distinct tokens"):
        order(of(lambda: Small(context=2)))
    assert V > T
