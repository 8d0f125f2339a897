"""Sources that ask for what the window holds already: a copy of it, and the token at a distance."""

import math
from dataclasses import dataclass

import torch
from torch import Generator

from blockproof.model import labels
from blockproof.model.labels import IGNORE, Batch
from blockproof.model.schema import Config, ConfigError, number
from blockproof.model.synthetic import VALIDATION_SEED, Synthetic


@dataclass(frozen=True, kw_only=True)
class CopyData(Config):
    """What is copied.

    Attributes:
        symbols: V, how many symbols there are.
        length: n, how many are drawn and then repeated.
        validation_windows: sequences scored in validation.
    """

    symbols: int = number(low=2)
    length: int = number(low=1)
    validation_windows: int = number(512, low=1)


class CopySource(Synthetic):
    """n symbols drawn independently and uniformly, then the same n again.

        s₁ s₂ … sₙ s₁ s₂ … sₙ

    Every next token is scored: the first n - 1 targets cannot be foreseen and have the floor ln V, the
    n of the copy have 0. A mean over both halves tells little: report them apart, with ``floors``.
    """

    def __init__(self, data: CopyData, context: int) -> None:
        if context != 2 * data.length - 1:
            raise ConfigError(
                f"{data.length} symbols and their copy need a context of {2 * data.length - 1}, got {context}"
            )
        self.vocab_size, self.length = data.symbols, data.length
        self.floors = torch.zeros(context, dtype=torch.float64)
        self.floors[: data.length - 1] = math.log(data.symbols)
        self.floor = self.floors.mean().item()
        self.held_out = self.batch(data.validation_windows, Generator().manual_seed(VALIDATION_SEED))

    def batch(self, size: int, generator: Generator) -> Batch:
        """``size`` independent sequences."""
        first = torch.randint(self.vocab_size, (size, self.length), generator=generator)
        return labels.shift(first.repeat(1, 2))

    @property
    def blind_loss(self) -> float:
        """Nats: the loss of the best model that sees no context."""
        return math.log(self.vocab_size)


@dataclass(frozen=True, kw_only=True)
class OffsetData(Config):
    """What is looked up.

    Attributes:
        symbols: V, how many symbols there are.
        offset: how many places before the last one seen the token stands that is asked for.
        validation_windows: sequences scored in validation.
    """

    symbols: int = number(low=2)
    offset: int = number(low=1)
    validation_windows: int = number(512, low=1)


class OffsetSource(Synthetic):
    """Symbols drawn independently and uniformly; at each place the one ``offset`` places back is asked for.

        s₁ s₂ … → sₜ₋ₒ at every place t > o

    The label is not the next token, on purpose: the next one is noise, and the one asked for stands in
    the window already, told from the others by its distance alone. So a model must know relative places;
    what it has learnt of the symbols does not help. Places with nothing so far back are not scored.
    """

    floor: float | None = 0.0

    def __init__(self, data: OffsetData, context: int) -> None:
        if context <= data.offset:
            raise ConfigError(
                f"an offset of {data.offset} needs a context of at least {data.offset + 1}, got {context}"
            )
        self.vocab_size, self.offset, self.context = data.symbols, data.offset, context
        self.floors = torch.zeros(context, dtype=torch.float64)
        self.held_out = self.batch(data.validation_windows, Generator().manual_seed(VALIDATION_SEED))

    def batch(self, size: int, generator: Generator) -> Batch:
        """``size`` independent windows."""
        inputs = torch.randint(self.vocab_size, (size, self.context), generator=generator)
        targets = torch.full_like(inputs, IGNORE)
        targets[:, self.offset :] = inputs[:, : -self.offset]
        return Batch(inputs, targets)

    @property
    def blind_loss(self) -> float:
        """Nats: the loss of the best model that sees no context."""
        return math.log(self.vocab_size)
