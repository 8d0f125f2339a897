"""Decoding with a cache: the right one passes, and each planted fault is named."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from blockproof.model import attention
from blockproof.model import generate as generation
from blockproof.model.attention import future
from blockproof.model.cache import Cache
from blockproof.model.generate import last_logits
from blockproof.model.transformer import Transformer
from blockproof.tests.checks.cache import cache
from blockproof.tests.checks.evidence import LackingError
from blockproof.tests.subjects import CONFIGS, factory
from blockproof.tests.unit.checks.models import Cached, NanoGPT, of


class AsTuple(Cached):
    """Gives a tuple of logits and cache, and always keeps one."""

    def forward(self, idx: Tensor, cache: Any = None) -> Any:  # type: ignore[override]
        out = super().forward(idx, past_key_values=cache, use_cache=True)
        return out.logits, out.past_key_values


class AsDict(Cached):
    def forward(self, ids: Tensor, past_key_values: Any = None, use_cache: bool = False) -> Any:  # type: ignore[override]
        return vars(super().forward(ids, past_key_values=past_key_values, use_cache=use_cache))


class InPlace(AsTuple):
    """Gives its cache once and fills it where it is from then on."""

    def forward(self, idx: Tensor, cache: Any = None) -> Any:  # type: ignore[override]
        logits, kept = super().forward(idx, cache)
        if cache is None:
            return logits, kept
        cache[:] = kept
        return logits


@pytest.mark.parametrize("build", [Cached, AsTuple, AsDict, InPlace])
def test_right_models_pass(build: type[nn.Module]) -> None:
    evidence = cache(of(build))
    assert evidence.problem == ""
    assert sum("not judged" in name for name in evidence.measured) == 2
    assert len(evidence.measured) == 6
    assert all(isinstance(value, float) and value < 1e-14 for value in evidence.measured.values())


class FromNought(Cached):
    """Positions start again at 0 with every call."""

    def start(self, past: Any) -> int:
        return 0


class OneTooFar(Cached):
    def start(self, past: Any) -> int:
        return max(0, super().start(past) - 1)


class DropsTheLast(Cached):
    """Leaves the last entry out of the cache."""

    def forward(self, ids: Tensor, past_key_values: Any = None, use_cache: bool = False) -> Any:  # type: ignore[override]
        out = super().forward(ids, past_key_values=past_key_values, use_cache=use_cache)
        if out.past_key_values is not None and out.past_key_values[0][0].shape[2] > 1:
            out.past_key_values = [(k[:, :, :-1], v[:, :, :-1]) for k, v in out.past_key_values]
        return out


class TopLeft(Cached):
    """Aligns the causal mask with the first key: a new token sees that one alone."""

    def keep(self, rows: int, begin: int, end: int, mask: Tensor | None) -> Tensor:
        return super().keep(rows, 0, end, mask)[:, :, : end - begin]


class Stale(Cached):
    """Keeps its cache over the end of a sequence."""

    left: Any = None

    def forward(self, input_ids: Tensor, past_key_values: Any = None, use_cache: bool = False) -> Any:  # type: ignore[override]
        before = past_key_values
        if use_cache and before is None and self.left is not None and len(input_ids) == len(self.left[0][0]):
            before = [(k[:, :, :1], v[:, :, :1]) for k, v in self.left]
        out = super().forward(input_ids, past_key_values=before, use_cache=use_cache)
        self.left = out.past_key_values or self.left
        return out


class Breaks(Cached):
    def start(self, past: Any) -> int:
        if past:
            raise RuntimeError("sizes do not match")
        return 0


@pytest.mark.parametrize("fault", [FromNought, OneTooFar, DropsTheLast, TopLeft, Stale, Breaks])
def test_sees_a_cache_that_changes_the_logits(fault: type[nn.Module]) -> None:
    evidence = cache(of(fault))
    assert evidence.problem.startswith("step by step, the logits are not those of the whole sequence (")
    assert ("RuntimeError" in evidence.problem) == (fault is Breaks)
    assert evidence.remedy


class SingleSteps(Cached):
    """Right for one token at a time; of two, the first sees the second."""

    def keep(self, rows: int, begin: int, end: int, mask: Tensor | None) -> Tensor:
        keep = super().keep(rows, begin, end, mask)
        return torch.ones_like(keep) if begin else keep


def test_steps_of_two_are_told_and_not_judged() -> None:
    evidence = cache(of(SingleSteps))
    assert evidence.problem == ""
    for name in ("two by two (not judged)", "1, 2, 3, then the rest (not judged)"):
        assert float(evidence.measured[name]) > 1e-3
        assert str(cache(of(Breaks)).measured[name]).startswith("RuntimeError: sizes")


@pytest.mark.parametrize("name", CONFIGS)
def test_ours_are_judged_in_any_steps_and_past_the_context(name: str) -> None:
    evidence = cache(of(factory(name), ours=True))
    assert evidence.problem == ""
    assert len(evidence.measured) == 7
    assert evidence.measured["tokens that differ past the context"] == 0


def test_sees_a_mask_that_is_right_for_single_steps_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_behind_the_first(queries: Tensor, keys: Tensor) -> Tensor:
        return future(queries, keys) & bool(queries[0] == 0)

    monkeypatch.setattr(attention, "future", open_behind_the_first)
    found = cache(of(factory("gpt"), ours=True))
    assert "(two by two: by" in found.problem
    assert "2 of 6 cases" in found.problem


def test_sees_a_window_of_ours_that_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(model: Transformer, ids: Tensor, kept: Cache | None) -> Tensor:
        beyond = kept is not None and ids.shape[1] > model.config.context
        return last_logits(model, ids[:, 1 - model.config.context :] if beyond else ids, None)

    monkeypatch.setattr(generation, "last_logits", short)
    found = cache(of(factory("gpt"), ours=True))
    assert found.problem.startswith("past the context, ")
    assert found.remedy


class Nan(Cached):
    def start(self, past: Any) -> int:
        if past:
            self.ln_f.weight.fill_(torch.nan)
        return super().start(past)


def test_nan_is_a_fault() -> None:
    assert "by nan of the largest logit" in cache(of(Nan)).problem


class GivesNone(Cached):
    def forward(self, ids: Tensor, past_key_values: Any = None) -> Any:  # type: ignore[override]
        return super().forward(ids)


class OnlyTakesOne(NanoGPT):
    """Its whole output is a tensor, and the cache is for its caller to make."""

    def forward(self, idx: Tensor, cache: Any = None) -> Tensor:  # type: ignore[override]
        return self.lm_head(self.features(idx))


def test_needs_a_cache() -> None:
    with pytest.raises(LackingError, match="takes no past_key_values"):
        cache(of(NanoGPT))
    with pytest.raises(LackingError, match="gives no cache"):
        cache(of(GivesNone))
    with pytest.raises(LackingError, match="gives no cache"):
        cache(of(OnlyTakesOne))
