"""Claims about labels and the loss: the shift, what is ignored, what is averaged."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from blockproof.model import labels
from blockproof.tests.checks.labels import ignored_targets, next_token_loss
from blockproof.tests.checks.overfit import BAND
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, verdict
from blockproof.tests.claims.overfitting import BELOW, TWINS, run
from blockproof.tests.helpers import B, T, V, tiny_ids, tiny_model


def unshifted() -> Found:
    """A model trained on labels that are its own inputs; and what the project's shift makes of a window."""
    model, final, floor = run("no shift")
    with torch.no_grad():
        copied = (model(TWINS[:, :-1]).argmax(dim=-1) == TWINS[:, :-1]).double().mean().item()
        honest = next_token_loss(model, TWINS).item()
    inputs, targets = labels.shift(TWINS)
    wrong = int((targets[:, :-1] != inputs[:, 1:]).sum())
    false = run("no shift").symptom == BELOW and honest > floor + BAND
    return Found(
        verdict(wrong == 0 and false and copied == 1.0),
        "Trained without the shift, a model ends at {final:.4f} nats on a batch that costs {floor:.3f} at "
        "least; {copied:.0f} % of its best guesses are the token it was just given, and of the next token "
        "its loss is {honest:.2f}. Where labels are shifted, {wrong} differ from the input one place later.",
        {"final": final, "floor": floor, "copied": 100 * copied, "honest": honest, "wrong": wrong},
    )


def ignored() -> Found:
    """Loss and gradients with some labels ignored; and with all of them."""
    logits, targets = torch.randn(B, T, V, dtype=torch.float64), tiny_ids()
    some = torch.where(torch.rand(B, T) < 0.4, labels.IGNORE, targets)
    found = ignored_targets(labels.cross_entropy, logits, some)
    none = torch.full_like(targets, labels.IGNORE)
    ours = labels.cross_entropy(logits, none).item()
    library = F.cross_entropy(logits.flatten(0, 1), none.flatten(), ignore_index=labels.IGNORE).item()
    return Found(
        verdict(found.error < EXACT and found.gradient == 0.0 < found.kept),
        "With {ignored} of {labels} labels ignored, the loss is off from the mean over the others by "
        "{error:.1g}, and the largest gradient where a label is ignored is {gradient:g}. With all of them "
        "ignored the mean is {ours:g} here and {library} in the library.",
        {
            **{"ignored": int((some == labels.IGNORE).sum()), "labels": targets.numel()},
            **{"error": found.error, "gradient": found.gradient, "ours": ours, "library": str(library)},
        },
    )


def perplexity() -> Found:
    """Against the definition, the inverse of the geometric mean of the probabilities."""
    model, tokens = tiny_model(), tiny_ids(length=T + 1)
    with torch.no_grad():
        probabilities: Tensor = model(tokens[:, :-1]).softmax(dim=-1).gather(-1, tokens[:, 1:, None])
        loss = next_token_loss(model, tokens).item()
    each = -probabilities.log()
    defined = probabilities.prod().item() ** (-1 / each.numel())
    of_mean, of_each = math.exp(loss), each.exp().mean().item()
    bits = 2 ** each.div(math.log(2)).mean().item()
    return Found(
        verdict(
            abs(of_mean / defined - 1) < EXACT
            and abs(bits / defined - 1) < EXACT
            and abs(of_each / defined - 1) > EXACT
        ),
        "On {tokens} tokens the exponential of the mean loss is {of_mean:.3f}; the inverse of the geometric "
        "mean probability is {defined:.3f}. The mean of the exponentials would be {of_each:.3g}, and e to a "
        "loss in bits {mixed:.3g}.",
        {
            **{"tokens": each.numel(), "of_mean": of_mean, "defined": defined, "of_each": of_each},
            "mixed": math.exp(loss / math.log(2)),
        },
    )


CLAIMS = (
    Claim("C1", "unless labels are shifted, the model copies and its loss is falsely low", HOLDS, unshifted),
    Claim("C6", "ignored labels add nothing to the loss or the gradient", HOLDS, ignored),
    Claim("C8", "perplexity is the exponential of the mean loss in nats", HOLDS, perplexity),
)
