"""Decoding with a cache of keys and values, against one forward of the whole sequence."""

import inspect
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.checks.precision import apart, precise, weighed

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject

LONGEST = 20  # tokens; up to the context, if that is shorter
NAMES = ("past_key_values", "cache")  # of the argument that takes a cache, and of what gives it
REMEDY = (
    "Count positions from the cache's length, append new keys after old ones, mask by absolute place, "
    "and start every call without past_key_values from an empty cache."
)


@torch.no_grad()
def cache(subject: "Subject") -> Evidence:
    """1, 2 or 3 tokens at once and the rest one by one, with a cache: the same logits at every step.

    Each time it is another sequence on the same model, so that what is left in a cache would show. Steps
    of 2 tokens are told, not judged: not every cache is meant for them.

    Raises:
        LackingError: if the model takes no cache, or gives none.
    """
    model, bound = precise(subject)
    if _name(model) is None:
        raise LackingError("the model takes no past_key_values")
    if _step(model, subject.ids(2, 1), None)[1] is None:
        raise LackingError("the model gives no cache, or not under the name by which it takes one")
    whole, _ = precise(subject)
    rows = {first: subject.ids(2, LONGEST) for first in (1, 2, 3) if first < subject.context}

    def one_by_one(first: int) -> float:
        return apart(_decoded(model, rows[first], first, 1), _plain(whole, rows[first]))

    evidence = weighed(
        {f"{first} first, then one by one": partial(one_by_one, first) for first in rows},
        bound,
        "step by step, the logits are not those of the whole sequence",
        "positions that start again, a mask for the wrong places, or a cache that is cut, late or not emptied",
        REMEDY,
    )
    return replace(evidence, measured={**evidence.measured, **_in_twos(model, whole, rows[1])})


def _in_twos(model: "Judged", whole: "Judged", ids: Tensor) -> dict[str, float | int | str]:
    try:
        return {"two by two (not judged)": apart(_decoded(model, ids, 2, 2), _plain(whole, ids))}
    except Exception as error:
        return {"two by two (not judged)": f"{type(error).__name__}: {error}".splitlines()[0]}


def _decoded(model: "Judged", ids: Tensor, first: int, step: int) -> Tensor:
    """Logits (B, T, V) of ids (B, T), the first few at once and then ``step`` by ``step``."""
    cuts = [0, *range(first, ids.shape[1], step), ids.shape[1]]
    parts, past = [], None
    for begin, end in pairwise(cuts):
        logits, past = _step(model, ids[:, begin:end], past)
        parts.append(logits)
    return torch.cat(parts, dim=1)


def _step(model: "Judged", ids: Tensor, past: Any) -> tuple[Tensor, Any]:
    """Logits of new tokens (B, n) after those in the cache, and the cache with them."""
    name = _name(model) or ""
    out = model.inner(ids.contiguous(), **_asked(model, True), **({} if past is None else {name: past}))
    if isinstance(out, tuple | list):
        return out[0], out[1] if len(out) > 1 else None
    found = out if isinstance(out, dict) else vars(out)
    return found["logits"], found.get(name)


def _plain(model: "Judged", ids: Tensor) -> Tensor:
    return model(ids, **_asked(model, False))


def _name(model: "Judged") -> str | None:
    taken = inspect.signature(model.inner.forward).parameters
    return next((name for name in NAMES if name in taken), None)


def _asked(model: "Judged", use: bool) -> dict[str, bool]:
    """The argument that asks for a cache, if there is one."""
    return {"use_cache": use} if "use_cache" in inspect.signature(model.inner.forward).parameters else {}
