"""Causality through the seam: right models of every style pass, each kind of leak is named."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.tests.checks.causal import ALL_PAIRS, causal, causal_at_full_context, past_matters, strengthen
from blockproof.tests.checks.evidence import LackingError
from blockproof.tests.helpers import copies, parameter
from blockproof.tests.seam.subject import subject
from blockproof.tests.unit.seam.styles import CONTEXT, STYLES, Bare, EncoderDecoder, V


@pytest.mark.parametrize("style", STYLES)
def test_right_models_pass(style: str) -> None:
    judged = subject(style, STYLES[style])
    for dtype in (torch.float32, torch.float64):
        for training in (True, False):
            for strong in (True, False):
                evidence = causal(judged, dtype, training=training, strong=strong)
                assert evidence.sound, evidence
                assert evidence.measured["places"] == ALL_PAIRS
    assert past_matters(judged).sound
    assert causal_at_full_context(judged).sound


class Future(Bare):
    """Each output is told the token so many places ahead, in so many dimensions of a batch norm, and so on."""

    ahead = 1

    def forward(self, ids: Tensor) -> Any:
        """With a hint that is small beside the logits."""
        logits = self.net(ids)
        seen = torch.zeros_like(logits)
        if ids.shape[1] > self.ahead:
            seen[:, : -self.ahead] = 1e-2 * F.one_hot(ids[:, self.ahead :], V)
        return logits + seen * self.net.token.weight.sum()


class Far(Future):
    """A leak from the far end of a full context alone."""

    ahead = CONTEXT - 1


class OverTime(Bare):
    """A norm whose statistics are those of the whole sequence."""

    def forward(self, ids: Tensor) -> Any:
        """Logits of one mean over time."""
        logits = self.net(ids)
        return logits - logits.mean(dim=1, keepdim=True)


class OverBatch(Bare):
    """A norm whose statistics are those of the whole batch."""

    def forward(self, ids: Tensor) -> Any:
        """Logits of one mean over the sequences."""
        logits = self.net(ids)
        return logits - logits.mean(dim=0, keepdim=True)


class Unmasked(EncoderDecoder):
    """No mask."""

    def forward(self, ids: Tensor) -> Any:
        """Every place sees all."""
        return self.head(self.layers(self.token(ids) + self.place(torch.arange(ids.shape[1]))))


class NotANumber(Bare):
    """Gives NaN at the first place when the last token is odd."""

    def forward(self, ids: Tensor) -> Any:
        """NaN, sometimes."""
        logits = self.net(ids)
        return logits.masked_fill(
            (ids[:, -1:, None] % 2 == 1) & (torch.arange(ids.shape[1]) == 0)[:, None], torch.nan
        )


LEAKING: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "next token": (Future, "depend on the token at place"),
    "mean over time": (OverTime, "depend on the token at place"),
    "mean over the batch": (OverBatch, "of another sequence of the batch"),
    "no mask": (Unmasked, "depend on the token at place"),
}


@pytest.mark.parametrize("fault", LEAKING)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("strong", [True, False])
def test_leaks_are_named(fault: str, dtype: torch.dtype, strong: bool) -> None:
    factory, words = LEAKING[fault]
    evidence = causal(subject(fault, factory), dtype, training=False, strong=strong)
    assert words in evidence.problem
    assert evidence.remedy


def test_nan_is_a_leak() -> None:
    judged = subject("nan", NotANumber)
    found = [causal(judged, torch.float64, training=False, strong=False) for _ in range(4)]
    assert any(not evidence.sound for evidence in found)


def test_a_leak_from_far_is_seen_at_full_context() -> None:
    judged = subject("far", Far)
    assert causal(judged, torch.float64, training=False, strong=False).sound  # too few places to show it
    evidence = causal_at_full_context(judged)
    assert f"at {CONTEXT} tokens a changed token moves earlier logits" in evidence.problem


def test_a_short_context_has_been_looked_at_in_full() -> None:
    with pytest.raises(LackingError, match="a context of 16 has been looked at"):
        causal_at_full_context(subject("short", Bare, context=16))


class Strict(EncoderDecoder):
    """A mask that hides the token itself too, but for the first."""

    def forward(self, ids: Tensor) -> Any:
        """Through one layer without a residual, so that nothing else carries the token."""
        T = ids.shape[1]
        hidden = torch.ones(T, T, dtype=torch.bool).triu(diagonal=0)
        hidden[0, 0] = False
        x = self.token(ids) + self.place(torch.arange(T))
        return self.head(self.layers.layers[0].self_attn(x, x, x, attn_mask=hidden)[0])


def test_a_mask_that_hides_the_token_itself_is_named() -> None:
    evidence = past_matters(subject("strict", Strict))
    assert "the output at place 1 does not depend on the token at 1" in evidence.problem
    assert "itself included" in evidence.remedy


def test_a_model_that_does_not_run_in_a_dtype_is_not_judged_in_it() -> None:
    class Single(Bare):
        def forward(self, ids: Tensor) -> Any:
            return (
                self.net(ids).float() @ torch.eye(V)
                if self.net.token.weight.dtype == torch.float32
                else self.net(ids) @ torch.eye(V)
            )

    with pytest.raises(LackingError, match="does not run in float64"):
        causal(subject("single", Single), torch.float64, training=False, strong=False)


def test_strong_weights_are_larger_and_open_every_gate() -> None:
    model = Bare()
    nn.init.zeros_(parameter(model, "net.norm.weight"))
    before = copies(model)
    strengthen(model)
    for name, value in model.named_parameters():
        assert (value != 0).all(), name
        if value.ndim == 2:
            assert (value - 3 * before[name]).std().item() == pytest.approx(0.05, rel=0.2)
