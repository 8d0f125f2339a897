"""The loss that the model under test reports: what it asks for, and of which labels."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from blockproof.tests.checks.causal import strengthen
from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.seam.protocol import INSIDE

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject

EXACT = 1e-5  # share of the loss: float32 sums of some dozen targets
SHARE = 1e-4  # of the largest gradient: float32, through the whole model
PLACES = 12

# What a reported loss may turn out to be, of logits and tokens (B, T + 1), in the order of C10 and of fame.
UNSHIFTED = "of the token itself: the labels are not shifted"
READINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    UNSHIFTED: lambda z, t: _mean(z, t[:, :-1]),
    "of the token after the next: the labels are shifted twice": lambda z, t: _mean(z[:, :-1], t[:, 2:]),
    "of a second softmax: the logits go through softmax before the cross-entropy": lambda z, t: _mean(
        z.softmax(dim=-1), t[:, 1:]
    ),
    "a sum, not a mean": lambda z, t: _mean(z, t[:, 1:]) * t[:, 1:].numel(),
    "in bits, not in nats": lambda z, t: _mean(z, t[:, 1:]) / torch.tensor(2.0).log(),
}
REMEDY = (
    "Score the logits at t against the token at t + 1, once: either the loader shifts the labels or the model does. "
    "If the convention is another, say so with --label-shift."
)


def asks_for_the_next_token(subject: "Subject") -> Evidence:
    """The reported loss against a cross-entropy by hand of logits[t] and token t + 1."""
    model, tokens = _of(subject)
    with torch.no_grad():
        logits = model.scored(tokens)
        reported, expected = model.loss(tokens).double(), _mean(logits, tokens[:, 1:])
        error = ((reported - expected).abs() / expected).item()
        readings = {
            words: (reported - f(logits, tokens)).abs().item() / expected.item()
            for words, f in READINGS.items()
        }
        if model.protocol.shift == INSIDE:  # then the last place has a label too
            readings[UNSHIFTED] = (reported - _mean(model(tokens), tokens)).abs().item() / expected.item()
    measured = {"reported": reported.item(), "by hand": expected.item(), "off by a share of": error}
    if error <= EXACT:
        return Evidence(measured, f"at most {EXACT:g}")
    nearest = min(readings, key=lambda words: readings[words])
    reading = nearest if readings[nearest] <= EXACT else "of no usual kind"
    told = f"the model reports {reported:.4f}, the cross-entropy of the next token is {expected:.4f}"
    problem = f"{told}; it is {reading}"
    return Evidence(measured, f"at most {EXACT:g}", problem, REMEDY)


def ignores_what_is_to_be_ignored(subject: "Subject") -> Evidence:
    """Loss and every gradient, with some labels ignored, against those of the other labels by hand."""
    model, tokens = _of(subject)
    ignored = torch.arange(tokens.shape[1] - 1) < torch.arange(1, len(tokens) + 1)[:, None]
    by_hand = _gradients(model, lambda: _mean(model.scored(tokens), tokens[:, 1:], ~ignored))
    reported = _gradients(model, lambda: model.loss(tokens, ignored))
    loss = abs(reported[0] - by_hand[0]) / by_hand[0]
    largest = max(float(g.abs().max()) for g in by_hand[1])
    gradient = max(float((a - b).abs().max()) for a, b in zip(reported[1], by_hand[1], strict=True)) / largest
    measured = {"loss off by a share of": loss, "gradient off by a share of": gradient}
    bound = f"at most {EXACT:g} and {SHARE:g}"
    if loss <= EXACT and gradient <= SHARE:
        return Evidence(measured, bound)
    problem = (
        f"with {int(ignored.sum())} labels set to {model.protocol.ignore} the loss is {reported[0]:.4f}, "
        f"over the others by hand {by_hand[0]:.4f} (gradients off by {gradient:.2g})"
    )
    return Evidence(
        measured,
        bound,
        problem,
        "Pass ignore_index to the cross-entropy, and divide by the labels that count.",
    )


def all_ignored_is_defined(subject: "Subject") -> Evidence:
    """A window in which every label is to be ignored."""
    model, tokens = _of(subject)
    with torch.no_grad():
        loss = float(model.loss(tokens, torch.ones_like(tokens[:, 1:], dtype=torch.bool)))
    finite = abs(loss) < float("inf")
    problem = "" if finite else f"where all labels are to be ignored the loss is {loss}"
    remedy = "" if finite else "Divide by max(1, labels that count), or refuse such a batch."
    return Evidence({"loss": str(loss)}, "a number", problem, remedy)


def _of(subject: "Subject") -> tuple["Judged", Tensor]:
    if subject.protocol.label is None:
        raise LackingError("the model reports no loss: it takes neither labels nor targets")
    model = subject.build()
    strengthen(model)  # as built, logits are so alike that every shift costs about ln V
    return model, subject.ids(3, PLACES)


def _mean(logits: Tensor, targets: Tensor, kept: Tensor | None = None) -> Tensor:
    losses = -logits.double().log_softmax(dim=-1).gather(-1, targets[..., None]).squeeze(-1)
    return (losses if kept is None else losses[kept]).mean()


def _gradients(model: "Judged", loss: Callable[[], Tensor]) -> tuple[float, list[Tensor]]:
    model.zero_grad()
    value = loss()
    value.backward()
    return value.item(), [p.grad.clone() for p in model.parameters() if p.grad is not None]
