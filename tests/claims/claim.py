"""A textbook claim on structure, decided by measuring: what is measured, and what was found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

HOLDS, FAILS = "holds", "does not hold"


@dataclass(frozen=True)
class Found:
    """What a measurement says about a claim.

    Attributes:
        verdict: ``holds``, ``holds when …`` or ``does not hold``.
        evidence: a sentence or two; ``{name}`` stands for a value, ``{name:.2f}`` for its format.
        values: by name, what was measured.
    """

    verdict: str
    evidence: str
    values: Mapping[str, float | int | str]


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes:
        id: as the report names it.
        says: the claim, in a few words.
        finding: the verdict that the tests hold it to; a change is red.
        measure: gives what is found; it takes seconds at most, and no random number but from a seed.
    """

    id: str
    says: str
    finding: str
    measure: Callable[[], Found]
