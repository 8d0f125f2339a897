"""Numbers are written one way, and every one is marked."""

import math

import pytest

from blockproof.ablations.statistics import Interval
from blockproof.report.numbers import END, NUMBER, fixed, interval, power, quote, rate, unmark, whole


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (fixed(1.005, 1), "1.0"),
        (fixed(-0.126), "−0.13"),
        (fixed(2, 3), "2.000"),
        (whole(1234567), "1,234,567"),
        (whole(2.5000001), "3"),
        (rate(3e-4), "3e-4"),
        (rate(0.01), "1e-2"),
        (rate(2.5e-3), "2.5e-3"),
        (rate(1.0), "1e0"),
        (power(1.23e-16), "1.2e-16"),
        (power(0.5), "0.5"),
        (power(12345.0), "1.2e+04"),
    ],
)
def test_written_and_marked(written: str, text: str) -> None:
    assert written == f"{NUMBER}{text}{END}"
    assert unmark(written) == text


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_a_dash(value: float) -> None:
    assert fixed(value) == rate(value) == "–"


def test_an_interval_has_a_mark_on_each_of_its_numbers() -> None:
    written = interval(Interval(-1.0, -2.0, 0.5, 5), 1)
    assert unmark(written) == "−1.0 [−2.0, 0.5]"
    assert written.count(NUMBER) == 3


def test_a_quotation_loses_its_marks() -> None:
    assert unmark(f"{quote('at 12 layers')}, {whole(3)}") == "at 12 layers, 3"
