"""One tiny batch, learnt again and again: soundly, and with one fault at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model import labels
from blockproof.model.transformer import Transformer
from blockproof.tests.checks.controls import Peek, Unmasked, double_shift_loss, unshifted_loss
from blockproof.tests.checks.labels import Loss, next_token_loss
from blockproof.tests.checks.overfit import BAND, ROUNDING, loss_floor, overfit, twins
from blockproof.tests.claims.measuring import reproducible
from blockproof.tests.helpers import merged, tiny_config

TWINS = twins()
V, CONTEXT, FLOOR = 10, 8, loss_floor(TWINS)
STEPS, RATE = 250, 5e-3
DROPOUT, LOW, HIGH = 0.3, 1e-5, 1.0
PAD = V  # an id of its own
APART = (torch.arange(V)[:, None] + torch.arange(CONTEXT + 1) ** 2) % V  # no two start alike
PADDED = torch.where((torch.arange(16)[:, None] >= 8) & (torch.arange(9) >= 5), PAD, TWINS)
BELOW, AT, ABOVE = "below", "at", "above"


class Run(NamedTuple):
    """A model at the end of its training, its last loss, and the lowest that an honest model can reach."""

    model: nn.Module
    final: float
    floor: float

    @property
    def symptom(self) -> str:
        """On which side of the floor it ended."""
        if self.final < self.floor - ROUNDING:
            return BELOW
        return AT if self.final <= self.floor + BAND else ABOVE  # NaN is above


@dataclass(frozen=True)
class Recipe:
    """What is trained, on which loss, at which rate; a loss may bring a batch, and so a floor, of its own."""

    build: Callable[[], nn.Module]
    loss: Loss = next_token_loss
    lr: float = RATE
    floor: float = FLOOR


def learner(**overrides: Any) -> Transformer:
    """One layer, which is enough for this batch."""
    usual = {
        "vocab_size": V,
        "context": CONTEXT,
        "d_model": 32,
        "n_layers": 1,
        "init": "torch",
        "attention": {"n_heads": 4},
    }
    return Transformer(tiny_config(**merged(usual, overrides)))


def frozen(path: str) -> Transformer:
    """A learner of which the optimizer lacks the parameters on a path."""
    model = learner()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(path not in name)
    return model


def dropping() -> Transformer:
    """With dropout at every usual place."""
    part = {"dropout": DROPOUT}
    both = {"dropout": DROPOUT, "output_dropout": DROPOUT}
    return learner(attention=both, feedforward=part, embedding_dropout=DROPOUT)


def in_train_mode(model: nn.Module, tokens: Tensor) -> Tensor:
    """The right loss, of a model whose dropout is left on."""
    return next_token_loss(model.train(), tokens)


def on_padded(ignored: bool) -> Loss:
    """Half of the sequences end early and are filled up, which their first tokens tell."""

    def loss(model: nn.Module, tokens: Tensor) -> Tensor:
        inputs, targets = labels.shift(PADDED)
        if ignored:
            targets = targets.masked_fill(targets == PAD, labels.IGNORE)
        return labels.cross_entropy(model(inputs), targets)

    return loss


def padded_floor() -> float:
    """Of the targets that are no padding; those that are can be predicted, and add nothing to the sum."""
    targets = PADDED[:, 1:]
    return loss_floor(PADDED) * targets.numel() / int((targets != PAD).sum())


RECIPES: dict[str, Recipe] = {
    "sound": Recipe(learner),
    "no two alike": Recipe(learner, lambda model, tokens: next_token_loss(model, APART), floor=0.0),
    "no mask": Recipe(lambda: Unmasked(V, CONTEXT)),
    "leak": Recipe(lambda: Peek(learner(), V)),
    "no shift": Recipe(learner, unshifted_loss),
    "double shift": Recipe(learner, double_shift_loss),
    "padding ignored": Recipe(lambda: learner(vocab_size=V + 1), on_padded(True), floor=padded_floor()),
    "padding scored": Recipe(lambda: learner(vocab_size=V + 1), on_padded(False), floor=padded_floor()),
    "embedding not trained": Recipe(lambda: frozen("token.")),
    "attention not trained": Recipe(lambda: frozen(".attention.")),
    "dropout on": Recipe(dropping, in_train_mode),
    "rate too low": Recipe(learner, lr=LOW),
    "rate too high": Recipe(learner, lr=HIGH),
}


@cache
def run(name: str) -> Run:
    """Train as a recipe says, once for all claims."""

    def trained() -> Run:
        recipe = RECIPES[name]
        model = recipe.build()
        found = overfit(model, recipe.loss, steps=STEPS, lr=recipe.lr)
        return Run(model.eval(), found.final, recipe.floor)

    return reproducible(trained)()


@torch.no_grad()
def told_the_past_alone(model: nn.Module) -> float:
    """The mean loss when each token must be predicted from its prefix by itself, as in generation."""
    losses = [F.cross_entropy(model(TWINS[:, :t])[:, -1], TWINS[:, t]).item() for t in range(1, CONTEXT + 1)]
    return sum(losses) / len(losses)
