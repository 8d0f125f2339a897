"""The Markov chain: solved as the sums over all windows say, sampled as the table says."""

import itertools
import math
from collections.abc import Sequence
from functools import cache

import pytest
import torch
from torch import Generator, Tensor

from blockproof.model.labels import IGNORE
from blockproof.model.markov import Chain, MarkovData, MarkovSource, make_chain
from blockproof.model.schema import ConfigError
from blockproof.model.source import complete, make_source

CHAINS = [(2, 1), (4, 1), (2, 2), (3, 2), (2, 3), (3, 3)]  # V, k
WINDOWS = [(2, 1, 5), (4, 1, 3), (2, 2, 4), (3, 2, 3), (2, 3, 5), (2, 3, 2), (2, 3, 1), (3, 3, 1)]  # V, k, T


def seeded(seed: int) -> Generator:
    return Generator().manual_seed(seed)


def source_of(v: int, k: int, context: int, chain_seed: int = 0) -> MarkovSource:
    return MarkovSource(MarkovData(symbols=v, order=k, chain_seed=chain_seed), context)


def number(gram: Sequence[int], v: int) -> int:
    """The gram's row in the table: its tokens as digits, oldest first."""
    return sum(token * v**power for power, token in enumerate(reversed(gram)))


@cache
def law_of_windows(v: int, k: int, length: int) -> Tensor:
    """The probability of every window (V, …, V), from the table alone, one window after the other.

    Its first gram's law is what 3000 tokens leave of any law.
    """
    table = make_chain(v, k, 0).table.tolist()
    grams = list(itertools.product(range(v), repeat=k))
    law = dict.fromkeys(grams, v**-k)
    for _ in range(3000):
        after = dict.fromkeys(grams, 0.0)
        for gram, p in law.items():
            for token in range(v):
                after[(*gram[1:], token)] += p * table[number(gram, v)][token]
        law = after
    windows = torch.zeros((v,) * max(length, k), dtype=torch.float64)
    for window in itertools.product(range(v), repeat=windows.dim()):
        steps = [table[number(window[t - k : t], v)][window[t]] for t in range(k, len(window))]
        windows[window] = law[window[:k]] * math.prod(steps)
    return windows.reshape((v,) * length + (-1,)).sum(dim=-1)


def prefix_laws(v: int, k: int, context: int) -> list[Tensor]:
    """The laws of the first 0, 1, … T + 1 tokens of a window."""
    law = law_of_windows(v, k, context + 1)
    return [law.reshape((v,) * length + (-1,)).sum(dim=-1) for length in range(context + 2)]


def near(found: Tensor, law: Tensor, n: Tensor | int) -> bool:
    """Whether shares of n independent draws lie within 5 standard deviations of their law."""
    return bool(((found - law).abs() <= 5 * (law * (1 - law) / n).sqrt()).all())


@pytest.mark.parametrize(("v", "k"), CHAINS)
def test_rows_are_laws_with_nothing_impossible(v: int, k: int) -> None:
    table = make_chain(v, k, 0).table
    assert table.shape == (v**k, v)
    assert table.dtype == torch.float64
    assert (table > 0).all()
    assert (table.sum(dim=1) - 1).abs().max() < 1e-15 * v


def test_rows_are_uniform_among_laws() -> None:
    """Of a uniform law p over V: E pᵢ² = 2 / V(@ + 1), and E H(p) = 1/2 + … + 1/V."""
    table = make_chain(4, 5, 0).table
    for values, mean in [
        (table[:, 0], 1 / 4),
        (table[:, 3].square(), 2 / 20),
        (-(table * table.log()).sum(dim=1), 1 / 2 + 1 / 3 + 1 / 4),
    ]:
        assert abs(values.mean() - mean) < 5 * values.std() / math.sqrt(len(values))


@pytest.mark.parametrize(("v", "k"), CHAINS)
def test_another_token_leaves_the_stationary_law_as_it_is(v: int, k: int) -> None:
    chain = make_chain(v, k, 0)
    after = [0.0] * v**k
    for gram in itertools.product(range(v), repeat=k):
        for token in range(v):
            row = number(gram, v)
            after[number((*gram[1:], token), v)] += (chain.grams[row] * chain.table[row, token]).item()
    assert (chain.grams > 0).all()
    assert abs(chain.grams.sum() - 1) < 1e-14
    assert (torch.tensor(after, dtype=torch.float64) - chain.grams).abs().max() < 1e-15


def test_stationary_law_of_two_symbols_in_closed_form() -> None:
    """Also of chains that leave a symbol, or keep it, once in hundreds of tokens."""
    for seed in range(300):
        (_, up), (down, _) = make_chain(2, 1, seed).table.tolist()
        law = torch.tensor([down, up], dtype=torch.float64) / (up + down)
        torch.testing.assert_close(make_chain(2, 1, seed).grams, law, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("v", "k", "context"), WINDOWS)
def test_floors_are_the_sums_over_all_windows(v: int, k: int, context: int) -> None:
    laws, source = prefix_laws(v, k, context), source_of(v, k, context)
    floors = [
        -(longer * (longer / shorter[..., None]).log()).sum().item()
        for shorter, longer in itertools.pairwise(laws[1:])
    ]
    assert source.floors.tolist() == pytest.approx(floors, rel=0, abs=1e-12)
    assert source.floor == pytest.approx(sum(floors) / context, rel=0, abs=1e-12)
    assert source.blind_loss == pytest.approx(-(laws[1] * laws[1].log()).sum().item(), rel=0, abs=1e-12)


def test_order_one_by_its_formula() -> None:
    source = source_of(4, 1, 6)
    law, table = source.chain.grams.tolist(), source.chain.table.tolist()
    floor = -sum(law[i] * p * math.log(p) for i in range(4) for p in table[i])
    assert source.floors.tolist() == pytest.approx([floor] * 6, rel=0, abs=1e-14)
    assert source.floor == pytest.approx(floor, rel=0, abs=1e-14)
    assert source.blind_loss == pytest.approx(-sum(p * math.log(p) for p in law), rel=0, abs=1e-14)


@pytest.mark.parametrize(("v", "k"), [(2, 10), (4, 5), (8, 3), (32, 2)])
def test_floors_fall_to_the_chains_own_entropy(v: int, k: int) -> None:
    source = source_of(v, k, k + 3)
    falls = torch.cat([torch.tensor([source.blind_loss], dtype=torch.float64), source.floors]).diff()
    assert source.floors.shape == (k + 3,)
    assert (falls[:k] < 0).all()
    assert (falls[k:] == 0).all()
    rows = -(source.chain.table * source.chain.table.log()).sum(dim=1)
    assert abs(source.floors[-1] - source.chain.grams @ rows) < 1e-13


@pytest.mark.parametrize(("v", "k", "context"), [(2, 1, 5), (3, 2, 6), (2, 3, 8), (3, 3, 3)])
def test_tokens_follow_the_table(v: int, k: int, context: int) -> None:
    inputs, targets = source_of(v, k, context).batch(20_000, seeded(1))
    counts = torch.zeros(v**k, v)
    for t in range(k - 1, context):
        rows = sum(inputs[:, t - back] * v**back for back in range(k))
        counts += torch.bincount(rows * v + targets[:, t], minlength=v ** (k + 1)).reshape(v**k, v)
    n = counts.sum(dim=1, keepdim=True)
    assert n.sum() == 20_000 * (context - k + 1)
    assert near(counts / n, make_chain(v, k, 0).table, n)


@pytest.mark.parametrize(
    ("v", "k", "context"), [(4, 1, 6), (3, 2, 6), (2, 3, 7), (2, 3, 1), (3, 3, 1), (2, 3, 2)]
)
def test_every_place_has_the_stationary_law(v: int, k: int, context: int) -> None:
    """The first tokens too; checked for as many in a row as a window holds, at most k."""
    inputs, targets = source_of(v, k, context).batch(20_000, seeded(2))
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
    length = min(k, context)
    law = prefix_laws(v, k, context)[length].flatten()
    for start in range(context - length + 1):
        rows = sum(inputs[:, start + i] * v ** (length - 1 - i) for i in range(length))
        assert near(torch.bincount(rows, minlength=v**length) / 20_000, law, 20_000)


@pytest.mark.parametrize(("v", "k", "context"), WINDOWS)
def test_the_chains_own_probabilities_reach_the_floor_at_each_place(v: int, k: int, context: int) -> None:
    source, laws = source_of(v, k, context), prefix_laws(v, k, context)
    inputs, targets = source.batch(20_000, seeded(3))
    assert (targets != IGNORE).all()
    tokens = torch.cat([inputs, targets[:, -1:]], dim=1).unbind(1)
    for t in range(context):
        loss = (laws[t + 1][tokens[: t + 1]] / laws[t + 2][tokens[: t + 2]]).log()
        assert abs(loss.mean() - source.floors[t]) < 5 * loss.std() / math.sqrt(20_000)
        assert 5 * loss.std() / math.sqrt(20_000) < 0.03


def test_chain_seed_alone_decides_the_table() -> None:
    def tables(seed: int) -> Chain:
        make_chain.cache_clear()
        torch.manual_seed(seed)
        return source_of(3, 2, 4).chain

    assert all(torch.equal(a, b) for a, b in zip(tables(1), tables(2), strict=True))
    assert (make_chain(3, 2, 0).table != make_chain(3, 2, 1).table).all()
    assert abs(source_of(3, 2, 4, chain_seed=1).floors - source_of(3, 2, 4).floors).min() > 1e-3


def test_the_table_is_not_what_a_training_seed_draws() -> None:
    for seed in range(5):
        drawn = -torch.rand(9, 3, generator=seeded(seed), dtype=torch.float64).log()
        assert (make_chain(3, 2, seed).table != drawn / drawn.sum(dim=1, keepdim=True)).all()


def test_defaults_are_spelt_out() -> None:
    assert complete({"source": "markov", "symbols": 4, "order": 2}) == {
        "source": "markov",
        "symbols": 4,
        "order": 2,
        "chain_seed": 0,
        "validation_windows": 512,
    }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"symbols": 1, "order": 1}, "symbols must be at least 2"),
        ({"symbols": 2, "order": 0}, "order must be at least 1"),
        ({"symbols": 2, "order": 1, "chain_seed": -1}, "chain_seed must be at least 0"),
        ({"symbols": 2, "order": 1, "chain_seed": 2**31}, "chain_seed must be below"),
        ({"symbols": 2}, "needs a value for 'order'"),
        ({"symbols": 2, "order": 11}, r"order 11 over 2 symbols makes 2\^11 contexts, more than the 1024"),
        ({"symbols": 1025, "order": 1}, r"1025\^1 contexts.*lower order or symbols"),
        ({"symbols": 10, "order": 10**9}, "more than the 1024"),
    ],
)
def test_refuses(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_source({"source": "markov", **values}, 5)


@pytest.mark.parametrize(("v", "k"), [(2, 10), (4, 5), (10, 3), (32, 2), (1024, 1)])
def test_takes_all_that_can_be_solved(v: int, k: int) -> None:
    assert MarkovData(symbols=v, order=k).order == k
