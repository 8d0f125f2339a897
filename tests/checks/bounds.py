"""What the model does with ids that it cannot take: an error that names the problem, never an answer."""

import re
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from blockproof.tests.checks.evidence import Evidence

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Subject

REMEDY = "Check dtype, shape, length and range of the ids before the embedding; name the offending number."
ACCEPTED = "accepted"


@torch.no_grad()
def bounds(subject: "Subject") -> Evidence:
    """Ids that are too long, outside the vocabulary, not integers or empty raise an error that says so."""
    model = subject.build().inner
    measured: dict[str, float | int | str] = {}
    wrong = []
    for name, (ids, words) in wrong_ids(subject).items():
        measured[name] = told = _told(model, ids)
        if told == ACCEPTED:
            wrong.append(f"{name}: accepted")
        elif not re.search(words, told, re.IGNORECASE):
            wrong.append(f"{name}: an error that does not name it ({told})")
    problem = f"{len(wrong)} of {len(measured)} kinds of wrong ids: {'; '.join(wrong)}" if wrong else ""
    return Evidence(measured, "an error that names the number or the thing", problem, REMEDY if wrong else "")


def wrong_ids(subject: "Subject") -> dict[str, tuple[Tensor, str]]:
    """Ids by what is wrong with them, and a pattern that an error that names it matches."""
    V, T = subject.vocab_size, subject.context
    usual = torch.zeros(2, min(T, 3), dtype=torch.int64)
    above, below = usual.clone(), usual.clone()
    above[1, -1], below[1, -1] = V, -1
    return {
        f"a sequence of {T + 1} tokens": (
            usual[:, :1].repeat(1, T + 1),
            rf"\b{T + 1}\b|context|block.?size",
        ),
        f"the id {V}": (above, rf"(?<![\d.]){V}\b|vocab"),
        "the id -1": (below, r"(?<!\w)-1\b|negative|vocab"),
        "ids that are floats": (usual.float(), r"\b(integers?|int(32|64)?|long|float(32)?|dtype)\b"),
        "a batch of 0 sequences": (usual[:0], rf"\(0, {usual.shape[1]}\)|\bempty\b|\bbatch\b"),
        "sequences of 0 tokens": (usual[:, :0], r"\(2, 0\)|\bempty\b|\b0 tokens\b"),
    }


def _told(model: Any, ids: Tensor) -> str:
    """What the model says to ids, in one line."""
    try:
        model(ids)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ACCEPTED
