"""Decoding with a cache of keys and values, against one forward of the whole sequence."""

import inspect
from collections.abc import Callable
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
    """1, 2, 3 or all but one token at once and the rest one by one: the same logits at every step.

    Each time it is another sequence on the same model, so that what is left in a cache would show. More
    than one token behind others is told, but judged of ours alone: not every cache is meant for it. So are
    texts past the context, which only ours say how to go on with.

    Raises:
        LackingError: if the model takes no cache, or gives none.
    """
    model, bound = precise(subject)
    if _name(model) is None:
        raise LackingError("the model takes no past_key_values")
    if _step(model, subject.ids(2, 1), None)[1] is None:
        raise LackingError("the model gives no cache, or not under the name by which it takes one")
    whole, _ = precise(subject)
    length = min(LONGEST, subject.context)
    single = {f"{first} first, then one by one": [*range(first, length)] for first in (1, 2, 3)}
    single["all but one first"] = [length - 1]
    several = {"two by two": [*range(2, length, 2)], "1, 2, 3, then the rest": [1, 3, 6]}

    def decoded(cuts: list[int]) -> float:
        ids = subject.ids(2, length)
        return apart(_decoded(model, ids, cuts), _plain(whole, ids))

    evidence = weighed(
        {name: partial(decoded, cuts) for name, cuts in (single | (several if subject.ours else {})).items()},
        bound,
        "step by step, the logits are not those of the whole sequence",
        "positions that start again, a mask for the wrong places, or a cache that is cut, late or not emptied",
        REMEDY,
    )
    if subject.ours:
        return _past_the_context(evidence, model, subject)
    told = {f"{name} (not judged)": _told(partial(decoded, cuts)) for name, cuts in several.items()}
    return replace(evidence, measured={**evidence.measured, **told})


def _told(case: Callable[[], float]) -> float | str:
    try:
        return case()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]


def _past_the_context(evidence: Evidence, model: "Judged", subject: "Subject") -> Evidence:
    """Two texts that start a token below the context and end above: the same tokens as without a cache."""
    generate: Any = model.inner.generate
    ids = subject.ids(2, max(subject.context - 1, 1))
    with_cache, without = (generate(ids, LONGEST, use_cache=use) for use in (True, False))
    differ = int((with_cache != without).sum())
    found = f"past the context, {differ} tokens of generate() are others with a cache than without"
    problem = evidence.problem or (found if differ else "")
    measured = {**evidence.measured, "tokens that differ past the context": differ}
    return Evidence(measured, evidence.bound, problem, REMEDY if problem else "")


def _decoded(model: "Judged", ids: Tensor, cuts: list[int]) -> Tensor:
    """Logits (B, T, V) of ids (B, T), given piece by piece; cuts that lie outside are none."""
    parts, past, length = [], None, ids.shape[1]
    for begin, end in pairwise([0, *(cut for cut in cuts if 0 < cut < length), length]):
        logits, past = _step(model, ids[:, begin:end], past)
        parts.append(logits)
    return torch.cat(parts, dim=1)


def _step(model: "Judged", ids: Tensor, past: Any) -> tuple[Tensor, Any]:
    """Logits of new tokens (B, n) after those in the cache, and the cache with them.

    A cache that is given and does not come back has been filled where it is.
    """
    name = _name(model) or ""
    out = model.inner(ids.contiguous(), **_asked(model, True), **({} if past is None else {name: past}))
    if isinstance(out, Tensor):
        return out, past
    if isinstance(out, tuple | list):
        return out[0], out[1] if len(out) > 1 and out[1] is not None else past
    found = out if isinstance(out, dict) else vars(out)
    return found["logits"], past if found.get(name) is None else found[name]


def _plain(model: "Judged", ids: Tensor) -> Tensor:
    return model(ids, **_asked(model, False))


def _name(model: "Judged") -> str | None:
    taken = inspect.signature(model.inner.forward).parameters
    return next((name for name in NAMES if name in taken), None)


def _asked(model: "Judged", use: bool) -> dict[str, bool]:
    """The argument that asks for a cache, if there is one."""
    return {"use_cache": use} if "use_cache" in inspect.signature(model.inner.forward).parameters else {}
