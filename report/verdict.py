"""A verdict: what the records say about a claim."""

from collections.abc import Iterable
from dataclasses import dataclass

from blockproof.ablations.statistics import MIN_SEEDS, Interval
from blockproof.report.numbers import whole

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"


@dataclass(frozen=True)
class Verdict:
    """What was found about one claim.

    Attributes:
        claim: its id.
        says: the claim, in a few words.
        verdict: ``holds``, ``holds when …``, ``does not hold``, ``undecided``, or why it was not judged.
        evidence: a few sentences with the numbers behind it, true whatever the numbers are.
    """

    claim: str
    says: str
    verdict: str
    evidence: str


def judged(verdict: str, seeds: Iterable[int]) -> str:
    """The verdict, unless some variant has too few seeds for one."""
    fewest = min(seeds)
    return verdict if fewest >= MIN_SEEDS else f"not judged: {whole(fewest)} seeds"


def positive(difference: Interval) -> str:
    """The verdict on a claim that a difference is above 0: three ways, by where its interval lies."""
    if difference.low > 0:
        return HOLDS
    return FAILS if difference.high < 0 else UNDECIDED
