"""Nested plain data by dotted path."""

import pytest

from blockproof.model.nested import leaves, with_values

DATA = {"a": 1, "b": {"c": 2, "d": {"e": 3}}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, DATA),
        ({"a": 9}, {"a": 9, "b": {"c": 2, "d": {"e": 3}}}),
        ({"b.d.e": 9, "b.c": 8}, {"a": 1, "b": {"c": 8, "d": {"e": 9}}}),
        ({"b": {"x": 1}}, {"a": 1, "b": {"x": 1}}),
        ({"n.m": 5}, {**DATA, "n": {"m": 5}}),
    ],
)
def test_with_values(changes: dict[str, object], expected: dict[str, object]) -> None:
    assert with_values(DATA, changes) == expected
    assert DATA == {"a": 1, "b": {"c": 2, "d": {"e": 3}}}, "the original was changed"


def test_leaves() -> None:
    assert leaves(DATA) == {"a": 1, "b.c": 2, "b.d.e": 3}
    assert leaves(DATA, "_") == {"a": 1, "b_c": 2, "b_d_e": 3}
    assert with_values({}, leaves(DATA)) == DATA
