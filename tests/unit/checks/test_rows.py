"""Rows, lengths and padding: right models pass, and each planted fault is named."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.checks.padding import masked_padding
from blockproof.tests.checks.precision import FLOAT32, FLOAT64, apart, precise
from blockproof.tests.checks.rows import prefix, rows
from blockproof.tests.helpers import D
from blockproof.tests.seam.subject import Subject
from blockproof.tests.unit.checks.models import RIGHT, Cached, Encoder, NanoGPT, Small, of


@pytest.mark.parametrize("name", RIGHT)
def test_right_models_pass(name: str) -> None:
    for check in (rows, prefix):
        evidence = check(of(RIGHT[name]))
        assert evidence.problem == ""
        assert len(evidence.measured) >= 8
        assert all(isinstance(value, float) and value < 1e-14 for value in evidence.measured.values())


Check = Callable[[Subject], Evidence]


class BatchNorm(NanoGPT):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(D)

    def features(self, idx: Tensor) -> Tensor:
        return self.norm(super().features(idx).transpose(1, 2)).transpose(1, 2)


class MeanOverBatch(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        x = super().features(idx)
        return x - 0.01 * x.mean(dim=0)


class FirstRow(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        x = super().features(idx)
        return x + x[:1]


class TimeFirst(Encoder):
    """Takes the batch for time, without a mask that would not fit."""

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.layers(self.embedding(ids).transpose(0, 1)).transpose(0, 1))


class Squeezed(NanoGPT):
    """Loses the axis of a batch of one."""

    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx).squeeze(0)


@pytest.mark.parametrize("fault", [BatchNorm, MeanOverBatch, FirstRow, TimeFirst, Squeezed])
def test_sees_rows_that_mix(fault: type[nn.Module]) -> None:
    evidence = rows(of(fault))
    mode = "train" if fault is BatchNorm else "eval"  # where it is right in eval mode
    assert evidence.problem.startswith(f"the logits of a row depend on the other rows (in {mode} mode, ")
    assert evidence.remedy


class NormOverTime(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        x = super().features(idx)
        return x - 0.01 * x.mean(dim=1, keepdim=True)


class FromTheEnd(NanoGPT):
    """Counts places from the last token."""

    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) + self.wpe(torch.arange(idx.shape[1]).flip(0))


class Unmasked(Encoder):
    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.layers(self.embedding(ids)))


class OneTokenFails(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx).squeeze(1)


@pytest.mark.parametrize("fault", [NormOverTime, FromTheEnd, Unmasked, OneTokenFails])
def test_sees_what_depends_on_the_length(fault: type[nn.Module]) -> None:
    assert "depend on what follows" in prefix(of(fault)).problem


class BlindToMask(Cached):
    def keep(self, rows: int, begin: int, end: int, mask: Tensor | None) -> Tensor:
        return super().keep(rows, begin, end, None)


class FirstMask(Cached):
    """Hides from every row what is padding in the first two."""

    def keep(self, rows: int, begin: int, end: int, mask: Tensor | None) -> Tensor:
        return super().keep(rows, begin, end, None if mask is None else mask[:2].repeat(rows // 2, 1))


class OwnPlaces(Cached):
    """Takes positions and counts its own."""

    def forward(self, input_ids: Tensor, attention_mask: Any = None, position_ids: Any = None) -> Any:  # type: ignore[override]
        return super().forward(input_ids, attention_mask)


class OnesHide(Cached):
    def keep(self, rows: int, begin: int, end: int, mask: Tensor | None) -> Tensor:
        return super().keep(rows, begin, end, None if mask is None else 1 - mask)


@pytest.mark.parametrize("fault", [BlindToMask, FirstMask, OwnPlaces, OnesHide])
def test_sees_padding_that_matters(fault: type[nn.Module]) -> None:
    assert "padding moves the logits" in masked_padding(of(fault)).problem


def test_padding_without_a_fault() -> None:
    evidence = masked_padding(of(Cached))
    assert evidence.problem == ""
    assert len(evidence.measured) == 5


class WithoutPlaces(Cached):
    def forward(self, input_ids: Tensor, attention_mask: Any = None) -> Any:  # type: ignore[override]
        return super().forward(input_ids, attention_mask)


def test_padding_on_the_left_needs_position_ids() -> None:
    evidence = masked_padding(of(WithoutPlaces))
    assert evidence.problem == ""
    assert str(evidence.measured["pads on the left"]).startswith(
        "not judged: the model takes no position_ids"
    )


def test_padding_needs_a_mask() -> None:
    with pytest.raises(LackingError, match="no attention_mask"):
        masked_padding(of(NanoGPT))


class Square(Cached):
    """Its mask is of another kind."""

    def keep(self, rows: int, begin: int, end: int, mask: Tensor | None) -> Tensor:
        if mask is not None and mask.shape[0] != mask.shape[1]:
            raise ValueError("the mask must be (T, T)")
        return super().keep(rows, begin, end, None)


def test_a_mask_of_another_kind_is_not_judged() -> None:
    with pytest.raises(LackingError, match="is refused"):
        masked_padding(of(Square))


class Nan(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) * torch.nan


@pytest.mark.parametrize("check", [rows, prefix])
def test_nan_is_a_fault(check: Check) -> None:
    assert "by nan of the largest logit" in check(of(Nan)).problem


class Float32Alone(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) @ torch.eye(D)


class Float32Inside(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        x = super().features(idx)
        return x.float().to(x.dtype)


def test_the_bound_is_that_of_the_narrowest_dtype() -> None:
    assert precise(of(NanoGPT))[1] == FLOAT64
    for build in (Float32Alone, Float32Inside):
        model, bound = precise(of(build))
        assert bound == FLOAT32
        assert next(model.parameters()).dtype == (torch.float32 if build is Float32Alone else torch.float64)
        assert rows(of(build)).sound


def test_weights_are_moved_unless_that_breaks_the_model() -> None:
    class Root(NanoGPT):
        def __init__(self) -> None:
            super().__init__()
            self.gain = nn.Parameter(torch.full((D,), 1e-4))

        def features(self, idx: Tensor) -> Tensor:
            return super().features(idx) * self.gain.sqrt()

    assert torch.equal(precise(of(Root))[0].inner.get_parameter("gain"), torch.full((D,), 1e-4).double())
    gated = precise(of(lambda: Small(**{"residual.kind": "gated"})))[0]
    assert all(parameter.abs().min() > 0 for name, parameter in gated.named_parameters() if "gate" in name)


def test_apart() -> None:
    a = torch.tensor([1.0, -4.0, -torch.inf])
    assert apart(a, a) == 0.0
    assert apart(a, torch.tensor([2.0, -4.0, -torch.inf])) == 0.25
    assert apart(a, torch.tensor([1.0, -4.0, 0.0])) == torch.inf
    assert apart(a[:2], a) == torch.inf
    assert not apart(torch.tensor([torch.nan]), torch.tensor([torch.nan])) <= 1.0


class NanInTraining(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) * (torch.nan if self.training else 1.0)


def test_nan_in_train_mode_is_a_fault() -> None:
    assert "in train mode, alone: by nan" in rows(of(NanInTraining)).problem


class Noisy(NanoGPT):
    """Draws in train mode beside its dropout: two forwards cannot be compared."""

    def features(self, idx: Tensor) -> Tensor:
        x = super().features(idx)
        return x + torch.randn_like(x) if self.training else x


def test_noise_in_train_mode_is_no_mixing() -> None:
    evidence = rows(of(Noisy))
    assert evidence.problem == ""
    assert all("eval" in name for name in evidence.measured)
