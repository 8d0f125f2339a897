"""Every claim on structure is measured, and found to be what the report says of it."""

import re
from collections.abc import Callable
from string import Formatter

import pytest

from blockproof.tests.claims.claim import FAILS, HOLDS, Claim, Found
from blockproof.tests.claims.table import CLAIMS

NAMES = r"GPT-2"  # the only digits that are no measured value


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.id for claim in CLAIMS])
def test_claim(claim: Claim, found: Callable[[Claim, Found], None]) -> None:
    """The verdict is the expected one, and its sentence says all that was measured and nothing else."""
    measured = claim.measure()
    found(claim, measured)
    assert measured.verdict == claim.finding, measured.evidence.format(**measured.values)
    assert_told(measured)


def assert_told(measured: Found) -> None:
    """Plain numbers and words, each in the sentence; no number in it but these."""
    assert {type(value) for value in measured.values.values()} <= {float, int, str}
    parts = list(Formatter().parse(measured.evidence))
    assert {name for _, name, _, _ in parts if name is not None} == measured.values.keys()
    assert re.findall(r"\d", re.sub(NAMES, "", "".join(text for text, *_ in parts))) == []
    assert measured.evidence.format(**measured.values)


def test_each_claim_is_made_once() -> None:
    assert len({claim.id for claim in CLAIMS}) == len({claim.says for claim in CLAIMS}) == len(CLAIMS)


def test_findings_are_of_the_three_kinds() -> None:
    other = [claim.finding for claim in CLAIMS if claim.finding not in (HOLDS, FAILS)]
    assert other
    assert all(re.fullmatch(r"holds when \D+", finding) for finding in other)
