"""The model as built: where its loss starts, and that every parameter is there and learns."""

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from blockproof.tests.checks.disturbing import set_dropout
from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.checks.precision import apart, precise

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject

# Nats round ln V. Right models of 1 to 6 layers and widths of 12 to 384, each init tied and not, with norms or
# torch's own layers, start from -0.1 to 1.2; a head or tied embedding of variance 1 starts 3 and more above.
BELOW, ABOVE = 0.3, 1.5
INIT = (
    "Draw a tied embedding and the head small, N(0, 0.02²) or within ±1/sqrt(D); put a norm before the head."
)
USE = "Use it in the forward, or leave it out; look for detach(), .data, no_grad() and a factor of 0 on its way."
NARROW = "Keep norms, softmax and positions in float32, and mask with -inf or torch.finfo(dtype).min."


@torch.no_grad()
def initial_loss(subject: "Subject") -> Evidence:
    """The loss as built, on tokens drawn evenly, which no model can predict: about ln V.

    A tied head may start by favouring the token that was just read, rightly so; what this costs is allowed.
    """
    model, tokens = subject.build(), _windows(subject)
    loss, logits = model.loss(tokens).item(), model.scored(tokens)
    echo = _echo(logits, tokens)
    even, width = math.log(subject.vocab_size), math.log(logits.shape[-1])
    low, high = even - BELOW, width + ABOVE + echo  # unused ids have a share at the start
    problem, remedy = "", INIT
    if loss < low:
        problem = f"the loss starts at {loss:.3f} on random tokens, ln V is {even:.3f}: it sees its targets"
    elif bool((logits >= 0).all()) and bool(((logits.sum(dim=-1) - 1).abs() < 1e-3).all()):
        problem = "the logits are probabilities: a softmax is taken before the loss takes another"
        remedy = "Give logits out as they are; the cross-entropy takes the softmax."
    elif not loss <= high:  # NaN too
        problem = (
            f"the loss starts at {loss:.3f}, ln V is {even:.3f}: logits are too large, or losses are summed"
        )
    measured = {"loss": loss, "ln V": even, "cost of favouring the last token": echo}
    return Evidence(measured, f"{low:.3f} to {high:.3f} nats", problem, remedy if problem else "")


def _echo(logits: Tensor, tokens: Tensor) -> float:
    """Nats that the loss on tokens (B, T + 1) owes to the logit of each place's own token."""
    own, target = tokens[:, :-1], tokens[:, 1:]
    without = logits.scatter(-1, own[..., None], -torch.inf)
    share = (logits.logsumexp(dim=-1) - without.logsumexp(dim=-1))[own != target]
    return max(0.0, share.mean().item() - math.log(logits.shape[-1] / (logits.shape[-1] - 1)))


def every_parameter_learns(subject: "Subject") -> Evidence:
    """Each parameter gets a finite gradient that is not all 0, as built or once all have moved.

    One that moves the logits by mere rounding needs none: softmax takes no notice of a key's bias.
    """
    tokens = _windows(subject)
    first = _gradients(precise(subject, moved=False)[0], tokens)
    asleep = [name for name, size in first.items() if not size]
    dead, idle = _awoken(subject, tokens, asleep) if asleep else ([], [])
    infinite = [name for name, size in first.items() if size is not None and not math.isfinite(size)]
    wrong = [f"{name} has a gradient that is not finite" for name in infinite] + dead
    problem = f"{len(wrong)} of {len(first)} parameters do not learn: {'; '.join(wrong[:3])}" if wrong else ""
    measured: dict[str, float | int | str] = {
        "trained": len(first),
        "frozen": sum(not parameter.requires_grad for parameter in subject.build().inner.parameters()),
        "gradient of 0 as built": len(asleep),
        "of these without effect, as a key's bias": ", ".join(idle) or "none",
    }
    return Evidence(measured, "finite, and not all 0", problem, USE if wrong else "")


def _awoken(subject: "Subject", tokens: Tensor, names: list[str]) -> tuple[list[str], list[str]]:
    """Which parameters have no gradient though all have moved: those that should, and those without effect."""
    model, bound = precise(subject)
    later, dead, idle = _gradients(model, tokens), [], []
    for name in names:
        if later[name]:
            continue
        influence = _influence(model, name, tokens)
        if 0.0 < influence <= bound:
            idle.append(name)
        else:
            dead.append(
                f"{name} is {'used, but cut off from the loss' if influence else 'not used in the forward'}"
            )
    return dead, idle


def _windows(subject: "Subject") -> Tensor:
    """About 128 random tokens, in windows (B, T + 1) that fit the context."""
    if min(subject.context, subject.vocab_size) < 2:
        raise LackingError("the context is one token, or the vocabulary one id")
    length = min(17, subject.context)
    return subject.ids(128 // length + 1, length)


def _gradients(model: "Judged", tokens: Tensor) -> dict[str, float | None]:
    """The largest gradient of each trained parameter, in train mode without dropout; None if it has none."""
    set_dropout(model.train(), 0.0)
    model.zero_grad(set_to_none=True)
    loss = model.loss(tokens)
    if loss.requires_grad:
        loss.backward()
    trained = [(name, p) for name, p in model.inner.named_parameters() if p.requires_grad]
    return {name: None if p.grad is None else p.grad.abs().amax().item() for name, p in trained}


@torch.no_grad()
def _influence(model: "Judged", name: str, ids: Tensor) -> float:
    """How far the logits move with a parameter: by rounding if its effect cancels, not by a bit if unused."""
    parameter = model.inner.get_parameter(name)
    torch.manual_seed(0)  # of what draws at random beside dropout
    before, kept = model(ids), parameter.clone()
    parameter.add_(torch.randn_like(parameter) * (1 + parameter.abs().amax()))
    torch.manual_seed(0)
    moved = apart(model(ids), before)
    parameter.copy_(kept)
    return moved


@torch.no_grad()
def finite_in_bfloat16(subject: "Subject") -> Evidence:
    """Logits in bfloat16 are finite, also where there is padding on the left, if it can be masked.

    Raises:
        LackingError: if the model does not run in bfloat16.
    """
    ids, extra = subject.ids(3, 16), {}
    real = torch.arange(ids.shape[1]) >= torch.arange(3)[:, None] % ids.shape[1]
    if subject.protocol.mask:
        extra["attention_mask"] = real.long()
    if subject.protocol.mask and subject.protocol.places:
        extra["position_ids"] = (real.cumsum(dim=1) - 1).clamp(min=0)
    try:
        model = subject.build().bfloat16()
        logits = model(ids)[..., : subject.vocab_size]
        padded = model(ids, **extra)[real][..., : subject.vocab_size]
    except Exception as error:
        raise LackingError(f"the model does not run in bfloat16: {error}".splitlines()[0]) from error
    wrong = sum(int((~values.isfinite()).sum()) for values in (logits, padded))
    problem = (
        f"{wrong} of {logits.numel() + padded.numel()} logits in bfloat16 are infinite or NaN"
        if wrong
        else ""
    )
    return Evidence({"not finite": wrong}, "every logit is finite", problem, NARROW if wrong else "")
