"""Padding that a mask hides: it must not matter to a logit of a real token."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from blockproof.tests.checks.disturbing import disturb
from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.checks.precision import FLOAT32, apart, precise, weighed

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject


@dataclass(frozen=True)
class _Padded:
    """Rows (B, T) of which another number of tokens is padding in each, on one side."""

    model: "Judged"
    ids: Tensor
    junk: Tensor
    real: Tensor
    dtype: torch.dtype

    def among(self, pads: Tensor) -> Tensor:
        """The logits (tokens, V) of all real tokens."""
        extra = {}
        if self.model.protocol.places:
            extra["position_ids"] = (self.real.cumsum(dim=1) - 1).clamp(min=0)
        ids = torch.where(self.real, self.ids, pads)
        return self.model(ids, attention_mask=self.real.to(self.dtype), **extra)[self.real]

    def alone(self) -> Tensor:
        """The same, each row without its padding; its positions are told too, since not all count from 0."""
        rows = [row[real][None] for row, real in zip(self.ids, self.real, strict=True)]
        if not self.model.protocol.places:
            return torch.cat([self.model(row)[0] for row in rows])
        return torch.cat([self.model(row, position_ids=torch.arange(row.shape[1])[None])[0] for row in rows])


@torch.no_grad()
def masked_padding(subject: "Subject") -> Evidence:
    """Tokens that attention_mask hides change nothing at the real ones, whichever side they are on.

    Padding on the left moves the rest, and without position_ids it is not judged.
    """
    if not subject.protocol.mask or subject.context < 2:
        raise LackingError("the model takes no attention_mask, or has no room for padding")
    evidence = _masked(subject, *precise(subject))
    if all(isinstance(value, str) or math.isfinite(value) for value in evidence.measured.values()):
        return evidence
    model = subject.build()  # the smallest float64, as a mask, is -inf where a softmax is in float32
    disturb(model)
    return _masked(subject, model, FLOAT32)


def _masked(subject: "Subject", model: "Judged", bound: float) -> Evidence:
    ids, junk, dtype = subject.ids(4, 8), subject.ids(4, 8), _mask_dtype(model, subject.ids(2, 4))
    counts, places = torch.arange(4)[:, None] % ids.shape[1], torch.arange(ids.shape[1])
    right = _Padded(model, ids, junk, places < ids.shape[1] - counts, dtype)
    left = _Padded(model, ids, junk, places >= counts, dtype)

    def on_left(case: Callable[[], float]) -> float:
        if not subject.protocol.places:
            raise LackingError(f"the model takes no position_ids (it moves by {case():.2g})")
        return case()

    cases = {
        "a mask of ones": lambda: apart(model(ids, attention_mask=(ids >= 0).to(dtype)), model(ids)),
        "pads on the right": lambda: apart(right.among(junk), right.alone()),
        "other pads on the right": lambda: apart(right.among(junk), right.among(ids)),
        "pads on the left": lambda: on_left(lambda: apart(left.among(junk), left.alone())),
        "other pads on the left": lambda: on_left(lambda: apart(left.among(junk), left.among(ids))),
    }
    return weighed(
        cases,
        bound,
        "padding moves the logits of real tokens",
        "attention_mask or position_ids are not used in every layer, or not for each row by itself",
        "Hide masked keys in every layer and head, row by row, and take positions from position_ids.",
    )


def _mask_dtype(model: "Judged", ids: Tensor) -> torch.dtype:
    """The dtype in which the model takes a mask."""
    told = ""
    for dtype in (torch.int64, torch.bool):
        try:
            model(ids, attention_mask=torch.ones_like(ids).to(dtype))
        except Exception as error:
            told = str(error).splitlines()[0]
            continue
        return dtype
    raise LackingError(f"attention_mask (B, T) of 0 and 1 is refused: {told}")
