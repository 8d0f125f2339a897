"""How numbers are written. Each carries an invisible mark until the text is done.

The marks let a test see every number of the report, and prove that it changes with the records.
"""

import math
import re
from collections.abc import Mapping

from blockproof.ablations.statistics import Interval

# Private-use characters: a measured or configured number, and words quoted from elsewhere.
NUMBER, QUOTED, END = "\ue000", "\ue001", "\ue002"


def mark(text: str) -> str:
    """A number that comes from the records, as text."""
    return f"{NUMBER}{text}{END}"


def quote(text: str) -> str:
    """Words of a claim, whose numbers are the claim's own."""
    return f"{QUOTED}{text}{END}"


def unmark(text: str) -> str:
    """The text as it is published."""
    return re.sub(f"[{NUMBER}{QUOTED}{END}]", "", text)


def fixed(value: float, digits: int = 2) -> str:
    """With a fixed number of decimals; a true minus sign."""
    if value is None or not math.isfinite(value):
        return "–"
    return mark(f"{value:.{digits}f}".replace("-", "−"))


def whole(value: float) -> str:
    """An integer, thousands apart."""
    return mark(f"{round(value):,}".replace("-", "−"))


def rate(value: float) -> str:
    """A learning rate, such as 3e-4."""
    if value is None or not math.isfinite(value):
        return "–"
    digits, exponent = f"{value:.1e}".split("e")
    return mark(f"{digits.removesuffix('.0')}e{int(exponent)}")


def power(value: float) -> str:
    """A number of any size at two significant digits."""
    return mark(f"{value:.1e}") if value and not 1e-3 <= abs(value) < 1e4 else mark(f"{value:.2g}")


def formatted(sentence: str, values: Mapping[str, float | int | str]) -> str:
    """A sentence with ``{name:format}`` for each value, every number marked."""

    def marked(found: re.Match[str]) -> str:
        name, _, form = found[1].partition(":")
        value = values[name]
        if isinstance(value, str):
            return quote(value)
        if form:
            return mark(re.sub("^-", "−", format(value, form)))
        return whole(value) if isinstance(value, int) else power(value)

    return re.sub(r"\{([^{}]+)\}", marked, sentence)


def interval(value: Interval, digits: int = 2) -> str:
    """A mean with its confidence interval."""
    return bounds(value.mean, value.low, value.high, digits)


def bounds(mean: float, low: float, high: float, digits: int = 2) -> str:
    """A mean with the two ends of its interval; a dash where there is none."""
    if not math.isfinite(mean):
        return "–"
    return f"{fixed(mean, digits)} [{fixed(low, digits)}, {fixed(high, digits)}]"
