"""The order task: right answers, nothing else scored, nothing to be learnt but the order."""

import math

import pytest
import torch
from torch import Generator

from blockproof.model.labels import IGNORE, Batch
from blockproof.model.schema import ConfigError
from blockproof.model.source import make_source
from blockproof.tests.helpers import SYMBOLS, tiny_source


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


def test_validation_is_the_same_for_every_seed() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = tiny_source()
    first.batch(7, seeded(9))
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    second = tiny_source()
    assert torch.equal(first.validation().inputs, second.validation().inputs)
    assert torch.equal(first.validation().targets, second.validation().targets)
    assert first.validation().inputs.shape == (10, SYMBOLS + 1)


def test_generator_decides() -> None:
    source = tiny_source()
    first, again, other = (source.batch(8, seeded(seed)).inputs for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_vocabulary_holds_every_id() -> None:
    source = tiny_source(asked=SYMBOLS)
    assert source.vocab_size == 2 * SYMBOLS
    assert source.batch(600, seeded(0)).inputs.unique().tolist() == list(range(2 * SYMBOLS))


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
        ({"source": "oder"}, 5, "no data source 'oder'; did you mean 'order'"),
        ({"source": ["order"]}, 5, "no data source"),
        ({"symbols": 4}, 5, "no data source None"),
    ],
)
def test_refuses(values: dict[str, object], context: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_source(values, context)
