"""Sources whose loss floors are known exactly; here the one whose answer depends on order alone."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from blockproof.model import labels
from blockproof.model.labels import Batch
from blockproof.model.schema import Config, ConfigError, number

# A stream of its own, the same for all: no training run has this seed. It fits into the 32 bits that
# torch's generator keeps of a seed: 2**40, say, would be the same as 0.
VALIDATION_SEED = 2**31 - 1


class Synthetic(ABC):
    """Windows drawn afresh from a law that is known, so that the lowest loss is known at every place.

    Attributes:
        floors: the lowest mean loss at each place, in nats, float64 (T,); a place that is not scored
            adds nothing to the loss and has 0.
        floor: their mean over the places that are scored.
        held_out: validation windows, drawn once.
    """

    vocab_size: int
    alphabet: str | None = None
    floors: Tensor
    floor: float | None
    held_out: Batch

    @abstractmethod
    def batch(self, size: int, generator: Generator) -> Batch:
        """``size`` independent windows; the generator alone decides which."""

    def validation(self) -> Batch:
        """Windows drawn once, the same for every seed and variant."""
        return self.held_out


@dataclass(frozen=True, kw_only=True)
class OrderData(Config):
    """What is asked of which sequences.

    Attributes:
        symbols: n, how many symbols are put in order.
        asked: the question is about one of the first ``asked`` places.
        validation_windows: sequences scored in validation.
    """

    symbols: int = number(low=2)
    asked: int = number(low=1)
    validation_windows: int = number(512, low=1)

    def validate(self) -> None:
        """Only a place that exists can be asked for."""
        if self.asked > self.symbols:
            raise ConfigError(f"asked {self.asked} exceeds the {self.symbols} places: lower it")


class OrderSource(Synthetic):
    """Every sequence holds the same n symbols in another order, then asks which stood at place k.

        s₁ s₂ … sₙ ?k → sₖ

    Only the answer is scored. Its floor is 0; a model that cannot tell the order, only which symbols
    there are, can do no better than ln n. Ids: symbols 0 … n-1, then the n questions ?1 … ?n. With
    few symbols training sees every sequence: the loss tells what can be expressed and learnt, not what
    carries over to unseen orders.
    """

    floor: float | None = 0.0

    def __init__(self, data: OrderData, context: int) -> None:
        if context != data.symbols + 1:
            raise ConfigError(
                f"{data.symbols} symbols and a question need a context of {data.symbols + 1}, got {context}"
            )
        self.symbols, self.asked = data.symbols, data.asked
        self.vocab_size = 2 * data.symbols
        self.floors = torch.zeros(context, dtype=torch.float64)
        self.held_out = self.batch(data.validation_windows, Generator().manual_seed(VALIDATION_SEED))

    def batch(self, size: int, generator: Generator) -> Batch:
        """``size`` independent sequences, orders and questions uniform."""
        order = torch.rand(size, self.symbols, generator=generator).argsort(dim=1)
        place = torch.randint(self.asked, (size, 1), generator=generator)
        tokens = torch.cat([order, self.symbols + place, order.gather(1, place)], dim=1)
        return labels.shift(tokens, first_target=self.symbols + 1)

    @property
    def blind_loss(self) -> float:
        """Nats: the loss of the best model that does not see the order."""
        return math.log(self.symbols)
