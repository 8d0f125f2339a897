"""Ids that a model cannot take: ours names each, and what is let through or not named is told."""

from typing import Any

import pytest
from torch import Tensor

from blockproof.tests.checks.bounds import bounds, wrong_ids
from blockproof.tests.helpers import T, V
from blockproof.tests.unit.checks.models import RIGHT, NanoGPT, Small, of


@pytest.mark.parametrize("name", [name for name in RIGHT if name.startswith("ours")])
def test_ours_names_what_is_wrong(name: str) -> None:
    evidence = bounds(of(RIGHT[name], ours=True))
    assert evidence.problem == ""
    assert len(evidence.measured) == 6
    assert all(str(told).startswith("InputError: ") for told in evidence.measured.values())


def test_cases() -> None:
    cases = [ids for ids, _ in wrong_ids(of(Small)).values()]
    assert [tuple(ids.shape) for ids in cases] == [(2, T + 1), (2, 3), (2, 3), (2, 3), (0, 3), (2, 0)]
    assert [ids.max().item() for ids in cases[:4]] == [0, V, 0, 0]
    assert [ids.is_floating_point() for ids in cases] == [False, False, False, True, False, False]
    assert cases[2].min() == -1


def test_tells_what_torch_says() -> None:
    """An index error of the embedding does not say which id."""
    evidence = bounds(of(NanoGPT))
    assert evidence.measured["the id 11"] == "IndexError: index out of range in self"
    assert evidence.measured["a batch of 0 sequences"] == "accepted"
    assert "Long, Int" in str(evidence.measured["ids that are floats"])
    assert evidence.problem.startswith("5 of 6 kinds of wrong ids: ")


class Lenient(Small):
    def __init__(self, mend: Any) -> None:
        super().__init__()
        self.mend = mend

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(self.mend(ids))


LENIENT = {
    "a sequence of 8 tokens: accepted": lambda ids: ids[:, -T:],
    "the id -1: accepted": lambda ids: ids.where(ids != -1, V - 1),
    "the id 11: accepted": lambda ids: ids.where(ids != V, 0),
    "ids that are floats: accepted": lambda ids: ids.long(),
    "a batch of 0 sequences: accepted": lambda ids: ids if len(ids) else ids.new_zeros(1, 1),
    "sequences of 0 tokens: accepted": lambda ids: ids if ids.shape[1] else ids.new_zeros(1, 1),
}


@pytest.mark.parametrize("fault", LENIENT)
def test_sees_what_is_let_through(fault: str) -> None:
    problem = bounds(of(lambda: Lenient(LENIENT[fault]))).problem
    assert problem == f"1 of 6 kinds of wrong ids: {fault}"


class Mute(Small):
    def forward(self, ids: Tensor) -> Tensor:
        try:
            return super().forward(ids)
        except ValueError:
            raise ValueError("bad input") from None


def test_sees_errors_that_do_not_say_what_is_wrong() -> None:
    problem = bounds(of(Mute)).problem
    assert problem.startswith("6 of 6 kinds of wrong ids: ")
    assert problem.count("an error that does not name it (ValueError: bad input)") == 6
