"""Rows of a batch, lengths and padding: what must not matter to a logit does not.

Logits are compared in float64 where the model runs in it, as the largest change over the largest logit.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from blockproof.tests.checks.disturbing import set_dropout
from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.checks.precision import apart, precise, weighed

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject


@torch.no_grad()
def rows(subject: "Subject") -> Evidence:
    """The logits of a row do not depend on the others: on what they hold, their order or their number."""
    model, bound = precise(subject)
    training, _ = precise(subject)
    set_dropout(training.train(), 0.0)
    ids = subject.ids(5, 12)
    cases = {f"in eval mode, {name}": case for name, case in _company(model, ids).items()}
    torch.manual_seed(0)
    once = training(ids)
    torch.manual_seed(1)
    if not apart(training(ids), once) > bound:  # else it draws beside its dropout, and cannot be compared
        cases |= {f"in train mode, {name}": case for name, case in _company(training, ids).items()}
    return weighed(
        cases,
        bound,
        "the logits of a row depend on the other rows",
        "a norm or a mean over the batch, or batch taken for time",
        "Mix nothing over the batch: check batch_first, and the axes of every norm, mean and reshape.",
    )


def _company(model: "Judged", ids: Tensor) -> dict[str, Callable[[], float]]:
    """Ways to put rows (B, T) among others."""
    together, order = model(ids), torch.arange(len(ids)).roll(2)
    other = torch.cat([ids[:1], ids[1:].flip(1)])
    return {
        "alone": lambda: apart(torch.cat([model(row[None]) for row in ids]), together),
        "in another order": lambda: apart(model(ids[order]), together[order]),
        "among other rows": lambda: apart(model(other)[:1], together[:1]),
        "twice": lambda: apart(model(torch.cat([ids, ids])), torch.cat([together, together])),
    }


@torch.no_grad()
def prefix(subject: "Subject") -> Evidence:
    """The first t tokens have the same logits alone and when others follow, whichever they are."""
    if subject.context < 2:
        raise LackingError("the context is one token")
    model, bound = precise(subject)
    ids, junk = subject.ids(3, 16), subject.ids(3, 16)
    whole, length = model(ids), ids.shape[1]

    def cut(t: int) -> float:
        return apart(model(ids[:, :t]), whole[:, :t])

    def padded(t: int) -> float:
        return apart(model(torch.cat([ids[:, :t], junk[:, t:]], dim=1))[:, :t], whole[:, :t])

    cases: dict[str, Callable[[], float]] = {}
    for t in sorted({1, 2, length // 2, length - 1} - {0, length}):
        cases |= {f"{t} alone": partial(cut, t), f"{t} before others": partial(padded, t)}
    return weighed(
        cases,
        bound,
        "the logits of the first tokens depend on what follows, or on how much",
        "no causal mask, a norm over time, or positions counted from the end",
        "Mask the future in every layer, and let nothing but masked attention mix places.",
    )
