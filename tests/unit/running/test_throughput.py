"""Speed by a clock that is known, and memory of what is known to be made."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from blockproof.model import throughput
from blockproof.model.count import cost, count
from blockproof.model.session import Session
from blockproof.model.throughput import REPEATS, SIDE, StepMemory, Throughput, matmul_rate
from blockproof.tests.helpers import tiny_config
from blockproof.tests.unit.running.recipes import small

CPU = torch.device("cpu")


def clock(monkeypatch: pytest.MonkeyPatch, *times: float) -> None:
    """Let the clock show these times, one a look."""
    shown: Iterator[float] = iter(times)
    monkeypatch.setattr(time, "perf_counter", lambda: next(shown))


def test_the_rate_is_of_the_fastest_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of 3, 2, 0.5, 2 and 3 seconds, with the clock running on between them."""
    clock(monkeypatch, 0, 3, 10, 12, 20, 20.5, 30, 32, 40, 43)
    assert REPEATS == 5
    assert matmul_rate(CPU) == 2 * SIDE**3 / 0.5


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> Throughput:
    """On a machine of a million operations a second; it was made at 100 s."""
    monkeypatch.setattr(throughput, "matmul_rate", lambda device: 1e6)
    clock(monkeypatch, 100, 103, 104, 110, 111, 115)
    return Throughput(tiny_config(), CPU)


def test_utilisation_by_hand(speed: Throughput) -> None:
    """Forward and backward of all tokens, over the time and what this machine was measured to do."""
    speed.count(20)  # 3 s
    speed.count(30)  # 1 s
    operations = cost(count(tiny_config())).training
    assert operations == 3 * cost(count(tiny_config())).forward
    tokens_per_second, share = speed.look()
    assert tokens_per_second == 50 / 4
    assert share == pytest.approx(50 * operations / 4 / 1e6, rel=1e-12)


def test_what_is_skipped_costs_nothing(speed: Throughput) -> None:
    speed.count(20)  # 3 s
    assert speed.skip() == 1
    speed.count(10)  # 6 s
    assert speed.look()[0] == 30 / 9


def test_a_look_begins_anew(speed: Throughput) -> None:
    assert speed.look() == (None, None)
    speed.count(20)
    assert speed.look()[0] == 20 / 3
    assert speed.look() == (None, None)
    speed.count(7)  # 1 s
    assert speed.look()[0] == 7


def test_an_update_is_all_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of 6 windows of 5 tokens, two windows at a time; updates that were looked into do not count."""
    counted: list[int] = []
    monkeypatch.setattr(Throughput, "count", lambda self, tokens: counted.append(tokens))
    Session(small(train__micro_batch=2), tmp_path).run(4)
    assert counted == [30, 30, 30]


def test_memory_of_what_is_alive_at_once() -> None:
    """4000 bytes that existed before and are read; then 4000 more, of which one is freed at a time."""
    before = torch.ones(1000)
    torch.ones(10_000)  # made outside
    with StepMemory() as memory:
        first = before + 1
        assert memory.peak == 8000
        second = first + 1
        assert memory.peak == 12_000
        del first
        third = second + 1
        assert memory.peak == 12_000
        large = third.double() + 1  # 8000 in float64, then 8000 more, beside 12 000
        del second, third, large
        before.sum()  # little is left alive
    assert memory.peak == 12_000 + 16_000


def test_views_and_changes_in_place_take_no_memory() -> None:
    tensor = torch.ones(30, 40)
    with StepMemory() as memory:
        tensor.view(-1).add_(1).reshape(40, 30).T.mul_(2)
    assert memory.peak == 30 * 40 * 4


def test_a_backward_pass_keeps_what_it_needs() -> None:
    """What the forward pass made stays until the gradient is there."""
    weight = torch.ones(1000, requires_grad=True)
    with StepMemory() as memory:
        weight.square().sum().backward()
    assert weight.grad is not None
    assert memory.peak >= 3 * 4000  # the weight, its square, its gradient
