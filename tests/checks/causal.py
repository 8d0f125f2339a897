"""Causality of the model under test: in each mode and dtype, with weak and strong weights, at full length."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from blockproof.tests.checks.causality import Causality, causality
from blockproof.tests.checks.evidence import Evidence, LackingError

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject

# Nats or logits, as a share of the largest logit: what rounding may move. No leak that a model can use is
# smaller; one that is exactly causal shows 0, unless tokens are sorted or routed together.
ROUNDING = {torch.float32: 1e-5, torch.float64: 1e-12}
FINITE = "Look for the root or the norm of a vector of zeros, as that of a padding id is: add an eps inside."
ALL_PAIRS, STRIPE = 16, 6
REMEDY = (
    "Mask the scores with -inf above the diagonal, before the softmax over the keys; nothing else may mix places: "
    "no norm over time or over the batch."
)


def causal(subject: "Subject", dtype: torch.dtype, *, training: bool, strong: bool) -> Evidence:
    """All pairs of places of up to 16 tokens."""
    model = prepared(subject, dtype, strong=strong).train(training)
    ids = subject.ids(3, ALL_PAIRS)
    found = causality(model, ids, subject.vocab_size)
    largest = _largest(model, ids)
    measured = {
        "largest dependence on a later token, over the largest logit": found.leak / largest,
        "places": ids.shape[1],
    }
    return Evidence(measured, f"at most {ROUNDING[dtype]:g}", *_leak(found, largest, dtype))


def past_matters(subject: "Subject") -> Evidence:
    """In float64: every output depends on its own token and on the one before.

    With strong weights or as built: gates may start shut, and of strong scores a softmax drops the small ones.
    """
    strong, built = (
        causality(
            prepared(subject, torch.float64, strong=times), subject.ids(3, ALL_PAIRS), subject.vocab_size
        )
        for times in (True, False)
    )
    blind = sorted({*strong.blind} & {*built.blind})
    near = [(i, j) for i, j in blind if i - j <= 1]
    places = len(strong.moved)
    pairs = places * (places + 1) // 2
    measured = {"pairs of places": pairs, "without a dependence": len(blind)}
    problem = f"the output at place {near[0][0]} does not depend on the token at {near[0][1]}" if near else ""
    remedy = "The mask hides too much: place t attends to 0 … t, itself included." if near else ""
    return Evidence(measured, "every place sees itself and the one before", problem, remedy)


def causal_at_full_context(subject: "Subject") -> Evidence:
    """A stripe of changed tokens at the longest length, in float32: kernels work in tiles."""
    if subject.context <= ALL_PAIRS:
        raise LackingError(f"a context of {subject.context} has been looked at in full")
    model, T = prepared(subject, torch.float32, strong=False), subject.context
    ids = subject.ids(2, T)
    with torch.no_grad():
        before = model(ids)
        moved = torch.tensor(0.0)
        for j in torch.linspace(1, T - 1, STRIPE).long().tolist():
            other = ids.clone()
            other[:, j] = (ids[:, j] + 1) % subject.vocab_size
            moved = torch.maximum(moved, (model(other) - before)[:, :j].abs().max())
    share, bound = (moved / before.abs().max()).item(), ROUNDING[torch.float32]
    problem = "" if share <= bound else f"at {T} tokens a changed token moves earlier logits by {moved:.2g}"
    measured = {"largest dependence on a later token, over the largest logit": share, "places": T}
    return Evidence(measured, f"at most {bound:g}", problem, REMEDY if problem else "")


def prepared(subject: "Subject", dtype: torch.dtype, *, strong: bool) -> "Judged":
    """A fresh model in a dtype, its weights as built or made strong.

    Raises:
        LackingError: if the model does not run so, or has no second token to be changed to.
    """
    if subject.vocab_size < 2:
        raise LackingError("the vocabulary is one id, so no token can be changed")
    model = subject.build().to(dtype)
    if strong:
        strengthen(model)
    try:
        with torch.no_grad():
            finite = bool(model(subject.ids(2, ALL_PAIRS)).isfinite().all())
    except Exception as error:
        told = str(error).splitlines()[0]
        raise LackingError(f"the model does not run in {dtype}: {told}".replace("torch.", "")) from error
    if strong and not finite:
        raise LackingError("the logits are not finite with weights three times as large")
    return model


@torch.no_grad()
def strengthen(model: nn.Module) -> None:
    """Three times the weights, and noise on every parameter, so that no gate stays shut."""
    for parameter in model.parameters():
        if parameter.is_floating_point():
            parameter.mul_(3 if parameter.ndim >= 2 else 1).add_(0.05 * torch.randn_like(parameter))


def _largest(model: nn.Module, ids: Tensor) -> float:
    with torch.no_grad():
        return float(model(ids).abs().max())


def _leak(found: Causality, largest: float, dtype: torch.dtype) -> tuple[str, str]:
    if found.leak <= ROUNDING[dtype] * largest:
        return "", ""
    if found.spill > ROUNDING[dtype] * largest:
        return (
            f"a changed token moves the logits of another sequence of the batch by {found.spill:.2g}",
            "Nothing may mix the sequences: no norm over the batch, no reshape that swaps its axis with another.",
        )
    ahead = torch.maximum(found.moved, found.pulled).triu(diagonal=1)
    if ahead.isnan().any():  # which proves nothing of the future, and must not be either
        i, j = divmod(int(ahead.isnan().flatten().int().argmax()), len(ahead))
        return f"logits or gradients at place {i} are NaN for the token at place {j}", FINITE
    i, j = divmod(int(ahead.argmax()), len(ahead))
    return f"the logits at place {i} depend on the token at place {j} (by {ahead[i, j]:.2g})", REMEDY
