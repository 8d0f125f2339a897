"""Whether the model under test learns one tiny batch to its exact floor, and gives it back."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.checks.overfit import BAND, ROUNDING, Overfit, overfit, twins

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject

RATES = (5e-3, 1e-3, 2e-2)  # tried in turn, until one reaches the floor or passes it
STEPS = 400  # of a try
LONGER = 1200  # of a last one, with the best rate: post-norm in a small width takes long
BOUND = (
    f"from {ROUNDING:g} below the floor to {BAND:g} above it; every token that the prefix tells given back"
)
ABOVE = (
    "If all that is checked before this is sound, look for: a residual that is missing, positions that are not "
    "added, parameters that the forward does not use, an init far too small or too large."
)
BELOW = (
    "Look for a missing causal mask or a missing shift of the labels: the loss must not get below what the "
    "prefixes tell."
)
OTHER = "The loss and the logits that are decoded are not of the same model."


def learns_to_the_floor(subject: "Subject") -> Evidence:
    """16 sequences that share prefixes, whose lowest possible loss is known and above 0."""
    tokens = twins()
    _can_take(subject, tokens)
    lr, found, model = min(_tries(subject), key=lambda each: _order(each[1]))
    given_back = regenerated(model, subject.told_apart(tokens))
    measured: dict[str, float | str] = {
        "floor": found.floor,
        "final loss": found.final,
        "lowest loss": min(found.curve),
        "learning rate": lr,
        "tokens given back": given_back,
        "curve": " ".join(f"{loss:.5g}" for loss in found.curve),
    }
    return Evidence(measured, BOUND, *_wrong(found, given_back))


def _tries(subject: "Subject") -> list[tuple[float, Overfit, "Judged"]]:
    """A fresh model for each learning rate, up to the first that is not above the floor; then one for longer."""

    def reported(model: Any, tokens: Tensor) -> Tensor:
        loss: Tensor = model.loss(subject.told_apart(tokens))
        return loss

    def fresh(lr: float, steps: int) -> tuple[float, Overfit, "Judged"]:
        model = subject.build()
        return lr, overfit(model, reported, steps=steps, lr=lr), model

    tried = []
    for lr in RATES:
        tried.append(fresh(lr, STEPS))
        if not tried[-1][1].verdict.startswith("above"):
            return tried
    best, *_ = min(tried, key=lambda each: _order(each[1]))
    return [*tried, fresh(best, LONGER)]


def _wrong(found: Overfit, given_back: float) -> tuple[str, str]:
    """Problem and remedy, empty where there are none."""
    if found.verdict != "at the floor":
        remedy = BELOW if found.verdict.startswith("below") else ABOVE
        ends = f"the loss ends at {found.final:.4f} (lowest {min(found.curve):.4f}), the floor is {found.floor:.4f}"
        return f"{ends}: {found.verdict}", remedy
    if given_back < 1.0:
        return (
            f"greedy decoding gives back {given_back:.0%} of what the prefixes tell, though the loss is low",
            OTHER,
        )
    return "", ""


def regenerated(model: nn.Module, tokens: Tensor) -> float:
    """The share of next tokens that their prefix determines, which the most likely token equals."""
    with torch.no_grad():
        best = model(tokens[:, :-1]).argmax(dim=-1)
    rows = [tuple(row) for row in tokens.tolist()]
    right, told = 0, 0
    for b, row in enumerate(rows):
        for t in range(len(row) - 1):
            if len({other[t + 1] for other in rows if other[: t + 1] == row[: t + 1]}) == 1:
                told += 1
                right += int(best[b, t] == row[t + 1])
    return right / told


def _can_take(subject: "Subject", tokens: Tensor) -> None:
    vocabulary, length = int(subject.told_apart(tokens).max()) + 1, tokens.shape[1]
    if subject.vocab_size < vocabulary or subject.context < length:
        raise LackingError(
            f"the batch needs {vocabulary} ids and {length} tokens, "
            f"the model has {subject.vocab_size} and {subject.context}"
        )


def _order(found: Overfit) -> tuple[bool, bool, float]:
    """Below the floor first, since it is never right; then the nearest to it."""
    return not found.verdict.startswith("below"), found.final != found.final, found.final
