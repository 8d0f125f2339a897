"""Synthetic sources: right answers, nothing else scored, nothing to be learnt but what they ask for."""

import math
from typing import Any

import pytest
import torch
from torch import Generator

from blockproof.model.labels import IGNORE, Batch
from blockproof.model.schema import ConfigError
from blockproof.model.source import Source, complete, make_source
from blockproof.model.synthetic import OrderData, OrderSource
from blockproof.tests.helpers import SYMBOLS, tiny_source

# Each with its context and its vocabulary.
EVERY: dict[str, tuple[dict[str, Any], int, int]] = {
    "order": ({"symbols": 4, "asked": 4}, 5, 8),
    "copy": ({"symbols": 3, "length": 4}, 7, 3),
    "offset": ({"symbols": 3, "offset": 2}, 6, 3),
    "markov": ({"symbols": 3, "order": 2}, 6, 3),
}
every = pytest.mark.parametrize("name", EVERY)


def seeded(seed: int) -> Generator:
    return Generator().manual_seed(seed)


def big_batch() -> Batch:
    return tiny_source().batch(600, seeded(1))


def test_answers_are_right() -> None:
    for inputs, targets in zip(*(x.tolist() for x in big_batch()), strict=True):
        order, question = inputs[:SYMBOLS], inputs[SYMBOLS]
        assert len(inputs) == SYMBOLS + 1
        assert targets == [IGNORE] * SYMBOLS + [order[question - SYMBOLS]]


def test_every_sequence_holds_every_symbol_once() -> None:
    orders = big_batch().inputs[:, :SYMBOLS]
    assert torch.equal(orders.sort(dim=1).values, torch.arange(SYMBOLS).expand_as(orders))
    assert len(orders.unique(dim=0)) == math.factorial(SYMBOLS)


def test_asks_for_each_of_the_asked_places_alike() -> None:
    questions = big_batch().inputs[:, SYMBOLS]
    counts = torch.bincount(questions - SYMBOLS, minlength=SYMBOLS).tolist()
    assert counts[3] == 0  # asked is 3
    assert all(abs(count - 200) < 5 * math.sqrt(600 * 2 / 9) for count in counts[:3])


def test_answer_is_uniform_given_the_question() -> None:
    """So a model that does not see the order can do no better than ln n."""
    batch = big_batch()
    for question in range(SYMBOLS, SYMBOLS + 3):
        answers = batch.targets[batch.inputs[:, SYMBOLS] == question, SYMBOLS]
        share = torch.bincount(answers, minlength=SYMBOLS) / len(answers)
        assert (share - 1 / SYMBOLS).abs().max() < 5 * math.sqrt(3 / 16 / len(answers))
    assert tiny_source().blind_loss == math.log(SYMBOLS)
    assert tiny_source().floor == 0.0
    assert OrderSource(OrderData(symbols=4, asked=3), 5).floors.tolist() == [0.0] * 5


def made(name: str, **overrides: Any) -> Source:
    values, context, _ = EVERY[name]
    return make_source({"source": name, **values, **overrides}, context)


@every
def test_validation_is_the_same_for_every_seed(name: str) -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = made(name, validation_windows=10)
    first.batch(7, seeded(9))
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    second = made(name, validation_windows=10)
    assert torch.equal(first.validation().inputs, second.validation().inputs)
    assert torch.equal(first.validation().targets, second.validation().targets)
    assert first.validation().inputs.shape == first.validation().targets.shape == (10, EVERY[name][1])


@every
def test_no_training_seed_draws_the_validation_windows(name: str) -> None:
    source = made(name)
    for seed in range(20):
        same = (source.batch(512, seeded(seed)).inputs == source.validation().inputs).all(dim=1)
        assert same.float().mean() < 0.1


@every
def test_generator_decides(name: str) -> None:
    source = made(name)
    first, again, other = (source.batch(8, seeded(seed)) for seed in (3, 3, 4))
    assert torch.equal(first.inputs, again.inputs)
    assert torch.equal(first.targets, again.targets)
    assert not torch.equal(first.inputs, other.inputs)


@every
def test_vocabulary_holds_every_id_and_no_other(name: str) -> None:
    source = made(name)
    inputs, targets = source.batch(600, seeded(0))
    assert source.vocab_size == EVERY[name][2]
    assert inputs.unique().tolist() == list(range(source.vocab_size))
    assert set(targets.unique().tolist()) <= {IGNORE, *range(source.vocab_size)}
    assert inputs.dtype == targets.dtype == torch.int64


@every
def test_validation_has_512_windows_unless_told(name: str) -> None:
    values, context, _ = EVERY[name]
    assert complete({"source": name, **values})["validation_windows"] == 512
    assert made(name).validation().inputs.shape == (512, context)


@pytest.mark.parametrize(
    ("values", "context", "message"),
    [
        ({"source": "order", "symbols": 4, "asked": 5}, 5, "asked 5 exceeds the 4 places"),
        (
            {"source": "order", "symbols": 4, "asked": 4},
            6,
            "4 symbols and a question need a context of 5, got 6",
        ),
        ({"source": "order", "symbols": 1, "asked": 1}, 2, "symbols must be at least 2"),
        ({"source": "order", "symbols": 4}, 5, "needs a value for 'asked'"),
        ({"source": "copy", "symbols": 1, "length": 4}, 7, "symbols must be at least 2"),
        ({"source": "copy", "symbols": 3, "length": 0}, 1, "length must be at least 1"),
        (
            {"source": "copy", "symbols": 3, "length": 4},
            8,
            "4 symbols and their copy need a context of 7, got 8",
        ),
        ({"source": "copy", "symbols": 3, "length": 4}, 6, "need a context of 7, got 6"),
        ({"source": "offset", "symbols": 1, "offset": 2}, 5, "symbols must be at least 2"),
        ({"source": "offset", "symbols": 3, "offset": 0}, 5, "offset must be at least 1"),
        (
            {"source": "offset", "symbols": 3, "offset": 5},
            5,
            "offset of 5 needs a context of at least 6, got 5",
        ),
        ({"source": "oder"}, 5, "no data source 'oder'; did you mean 'order'"),
        ({"source": ["order"]}, 5, "no data source"),
        ({"symbols": 4}, 5, "no data source None"),
    ],
)
def test_refuses(values: dict[str, object], context: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_source(values, context)
