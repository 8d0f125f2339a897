"""How the next token is chosen from its logits: the likeliest, or one drawn from what is kept of them."""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from blockproof.model.schema import Config, ConfigError, number

ROUNDING = 1e-12  # probabilities that add up to top_p but for this much have reached it


@dataclass(frozen=True, kw_only=True)
class Sampling(Config):
    """Temperature first, then top-k, then top-p of what top-k has left.

    Attributes:
        temperature: divides the logits; at 0 the likeliest token is taken, of equal ones the first.
        top_k: how many of the likeliest tokens are kept; all if not given, or if there are no more.
        top_p: the likeliest tokens are kept until their probabilities reach this, the one that does
            included; 1 keeps all (Holtzman et al. 2020).
    """

    temperature: float = number(1.0, low=0.0)
    top_k: int | None = number(None, low=1)
    top_p: float = number(1.0)

    def validate(self) -> None:
        """At least one token must be kept."""
        if not 0.0 < self.top_p <= 1.0:
            raise ConfigError(f"Sampling.top_p must be above 0 and at most 1, got {self.top_p}: 1 keeps all")


GREEDY = Sampling(temperature=0.0)


def choose(logits: Tensor, settings: Sampling, generator: Generator) -> int:
    """A token id from its logits (V,); the generator, of the CPU, is left alone at temperature 0."""
    if settings.temperature == 0.0:
        return int(logits.argmax())
    return int(torch.multinomial(probabilities(logits, settings).cpu(), 1, generator=generator))


def probabilities(logits: Tensor, settings: Sampling) -> Tensor:
    """Of each token to be drawn at a temperature above 0, (V,) in float64, from its logits (V,)."""
    ranked, ids = logits.double().sort(descending=True, stable=True)
    # The largest becomes 0 first: the others may then go to minus infinity, whatever divides them.
    p = ((ranked - ranked[0]) / settings.temperature).softmax(dim=0)
    if settings.top_k is not None:
        p[settings.top_k :] = 0.0
        p /= p.sum()
    if settings.top_p < 1.0:
        reached = p.cumsum(dim=0) >= settings.top_p - ROUNDING
        p[1:][reached[:-1]] = 0.0  # the token that reaches it is kept
        p /= p.sum()
    return torch.zeros_like(p).scatter(0, ids, p)
