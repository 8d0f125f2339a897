"""A verdict: what the records say about a claim."""

from collections.abc import Iterable
from dataclasses import dataclass

from blockproof.ablations.statistics import MIN_SEEDS
from blockproof.report.numbers import whole

HOLDS, FAILS = "holds", "does not hold"


@dataclass(frozen=True)
class Verdict:
    """What was found about one claim.

    Attributes:
        claim: its id.
        says: the claim, in a few words.
        verdict: ``holds``, ``holds when …``, ``does not hold``, or why it was not judged.
        evidence: one or two sentences with the numbers behind it.
    """

    claim: str
    says: str
    verdict: str
    evidence: str


def judged(verdict: str, seeds: Iterable[int]) -> str:
    """The verdict, unless some variant has too few seeds for one."""
    fewest = min(seeds)
    return verdict if fewest >= MIN_SEEDS else f"not judged: {whole(fewest)} seeds"
