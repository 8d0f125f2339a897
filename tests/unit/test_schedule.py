"""Learning rates: no wasted first step, no gap at the join, the promised end."""

import math

import pytest

from blockproof.model.schedule import SCHEDULES, learning_rate

LR, STEPS = 0.3, 50


def rates(warmup: int, schedule: str) -> list[float]:
    return [
        learning_rate(step, lr=LR, steps=STEPS, warmup=warmup, schedule=schedule) for step in range(STEPS + 1)
    ]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("warmup", [1, 2, 10, STEPS - 1])
def test_warm_up_is_linear_and_reaches_the_rate(schedule: str, warmup: int) -> None:
    seen = rates(warmup, schedule)
    assert seen[:warmup] == pytest.approx([LR * (step + 1) / warmup for step in range(warmup)], rel=1e-12)
    assert seen[0] > 0
    assert seen[warmup - 1] == max(seen) == LR
    assert (seen[warmup] == LR) == (schedule != "noam")  # whose formula has one join, not a flat place


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_without_warm_up_the_first_step_is_full(schedule: str) -> None:
    assert rates(0, schedule)[0] == LR


@pytest.mark.parametrize("warmup", [0, 10])
def test_constant_stays(warmup: int) -> None:
    assert set(rates(warmup, "constant")[warmup:]) == {LR}


@pytest.mark.parametrize("warmup", [0, 10])
def test_cosine_falls_to_a_tenth(warmup: int) -> None:
    seen = rates(warmup, "cosine")
    decay = seen[warmup:]
    assert decay == sorted(set(decay), reverse=True)
    assert seen[STEPS] == pytest.approx(0.1 * LR, rel=1e-12)
    assert seen[(warmup + STEPS) // 2] == pytest.approx(0.55 * LR, rel=1e-12)
    fifth = 0.1 + 0.9 * (1 + math.cos(math.pi / 5)) / 2
    assert seen[warmup + (STEPS - warmup) // 5] == pytest.approx(fifth * LR, rel=1e-12)


@pytest.mark.parametrize(("width", "warmup"), [(512, 4000), (64, 10)])
def test_noam_is_the_published_formula(width: int, warmup: int) -> None:
    peak = (width * warmup) ** -0.5
    for update in (1, 2, warmup - 1, warmup, warmup + 1, 10 * warmup):
        published = width**-0.5 * min(update**-0.5, update * warmup**-1.5)
        rate = learning_rate(update - 1, lr=peak, steps=20 * warmup, warmup=warmup, schedule="noam")
        assert rate == pytest.approx(published, rel=1e-12)
