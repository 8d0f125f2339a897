"""An order-k Markov chain: text of which the entropy is known exactly, however many tokens are seen."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from blockproof.model import labels
from blockproof.model.labels import Batch
from blockproof.model.schema import Config, ConfigError, number
from blockproof.model.synthetic import VALIDATION_SEED, Synthetic

MOST_GRAMS = 1024  # their law is solved for at once, at cubic cost: 0.2 s here
CHAIN_SEED = 2**31  # the stream of chain_seed 0: above those of training and validation


@dataclass(frozen=True, kw_only=True)
class MarkovData(Config):
    """Which chain.

    Attributes:
        symbols: V, how many symbols there are.
        order: k, how many tokens the next one depends on.
        chain_seed: which transition table; training seeds do not change it.
        validation_windows: windows scored in validation.
    """

    symbols: int = number(low=2)
    order: int = number(low=1)
    chain_seed: int = number(0, low=0, below=2**31)  # torch's generator keeps 32 bits of a seed
    validation_windows: int = number(512, low=1)

    def validate(self) -> None:
        """The chain must be small enough to be solved."""
        if self.order * math.log2(self.symbols) > math.log2(MOST_GRAMS):  # the power itself may be huge
            raise ConfigError(
                f"order {self.order} over {self.symbols} symbols makes {self.symbols}^{self.order} contexts, "
                f"more than the {MOST_GRAMS} that are solved exactly: lower order or symbols"
            )


class Chain(NamedTuple):
    """A chain and what is known of it. A gram is k tokens in a row: the digits of its number, oldest first.

    Attributes:
        table: the probability of each next token given the gram before it (V^k, V).
        grams: the stationary law of grams (V^k,).
        entropies: nats of a token given the last 0, 1, … k before it (k + 1,).
    """

    table: Tensor
    grams: Tensor
    entropies: Tensor


@lru_cache
def make_chain(symbols: int, order: int, seed: int) -> Chain:
    """The chain of that seed, all float64."""
    table = draw_table(symbols, order, seed)
    grams = stationary(table)
    return Chain(table, grams, conditional_entropies(table, grams, order))


def draw_table(symbols: int, order: int, seed: int) -> Tensor:
    """Each row (of V^k) uniform among the laws over V symbols: exponentials, divided by their sum."""
    generator = Generator().manual_seed(CHAIN_SEED + seed)
    uniform = torch.rand(symbols**order, symbols, generator=generator, dtype=torch.float64)
    weights = -uniform.clamp(min=2.0**-53).log()  # rand may give 0, never 1: each weight is finite, above 0
    return weights / weights.sum(dim=1, keepdim=True)


def stationary(table: Tensor) -> Tensor:
    """The one law of grams (V^k,) that another token leaves as it is.

    There is exactly one, as every entry of the table is above 0.
    """
    grams, symbols = table.shape
    # Another token pushes the oldest one out of the gram.
    after = (torch.arange(grams)[:, None] * symbols + torch.arange(symbols)) % grams
    moves = torch.zeros(grams, grams, dtype=table.dtype).scatter_(1, after, table)
    identity = torch.eye(grams, dtype=table.dtype)
    equations = identity - moves.T
    equations[-1] = 1  # the last one follows from the others; it makes way for: the law sums to 1
    return torch.linalg.solve(equations, identity[-1])


def conditional_entropies(table: Tensor, grams: Tensor, order: int) -> Tensor:
    """Nats of a token given the last 0, 1, … k before it (k + 1,): entropies of m + 1 tokens less of m.

    Cover and Thomas 2006, section 4.2.
    """
    law = grams[:, None] * table  # of k + 1 tokens in a row
    blocks = [law.reshape(table.shape[1] ** length, -1).sum(dim=1) for length in range(order + 2)]
    return torch.stack([torch.special.entr(block).sum() for block in blocks]).diff()


class MarkovSource(Synthetic):
    """Windows of T + 1 tokens of a chain that has run for ever: every place has the same law.

    Every next token is scored. The one after t tokens has as its floor the entropy given the last
    min(t, k) of them, so ``floors`` falls up to place k and is level from there on.
    """

    def __init__(self, data: MarkovData, context: int) -> None:
        self.chain = make_chain(data.symbols, data.order, data.chain_seed)
        self.vocab_size, self.order, self.context = data.symbols, data.order, context
        self.floors = self.chain.entropies[torch.arange(1, context + 1).clamp(max=data.order)]
        self.floor = self.floors.mean().item()
        self.first, self.next = _ends(self.chain.grams), _ends(self.chain.table)
        self.held_out = self.batch(data.validation_windows, Generator().manual_seed(VALIDATION_SEED))

    def batch(self, size: int, generator: Generator) -> Batch:
        """``size`` independent windows: a gram from the stationary law, then token by token."""
        V, k = self.vocab_size, self.order
        steps = max(self.context + 1 - k, 0)
        draws = torch.rand(1 + steps, size, 1, generator=generator, dtype=torch.float64)
        gram = _pick(self.first, draws[0])
        tokens = list(torch.unravel_index(gram, (V,) * k))
        for draw in draws[1:]:
            tokens.append(_pick(self.next[gram], draw))
            gram = (gram * V + tokens[-1]) % V**k
        return labels.shift(torch.stack(tokens[: self.context + 1], dim=1))

    @property
    def blind_loss(self) -> float:
        """Nats: the loss of the best model that sees no context, the entropy of a single token."""
        return self.chain.entropies[0].item()


def _ends(law: Tensor) -> Tensor:
    """Where the share of [0, 1) that each outcome has ends: (…, n) to (…, n - 1), the last one's is 1."""
    return law.cumsum(dim=-1)[..., :-1]


def _pick(ends: Tensor, draw: Tensor) -> Tensor:
    """The outcome (B,) in whose share the draw (B, 1) falls; ends: (n - 1,) or (B, n - 1)."""
    return (ends <= draw).sum(dim=-1)
