"""What all checks make of each architecture, as plain data: the rows of the stored result."""

from typing import Any

from blockproof.tests.checks.evidence import Evidence
from blockproof.tests.seam.subject import Subject, subject
from blockproof.tests.zoo.architecture import Architecture, NotBuiltError, architecture
from blockproof.tests.zoo.findings import FINDINGS, SHIFTED_BEFORE
from blockproof.tests.zoo.judging import Check, verdict

LONG = 60  # characters; what is longer, such as a curve, is no number


def judged(built: Architecture) -> Subject:
    """The tiny model as the checks see it."""
    told: dict[str, Any] = {"label_shift": "before"} if built.name in SHIFTED_BEFORE else {}
    return subject(built.name, built.factory, **told)


def survey(name: str, chosen: tuple[Check, ...] | None = None) -> dict[str, Any]:
    """One row: whether it was built, what ran, what is red with which numbers, what is remarked.

    All checks are asked, or those chosen.
    """
    try:
        built = architecture(name)
    except NotBuiltError as reason:
        return {"built": False, "reason": str(reason)}
    found = verdict(judged(built), chosen)
    return {
        "built": True,
        "class": built.classname,
        "parameters": built.parameters,
        "ran": len(found.ran),
        "skipped": dict(found.skipped),
        "red": {check: _row(evidence) | _cause(name, check) for check, evidence in found.red.items()},
        "remarks": dict(found.remarks),
    }


def _cause(name: str, check: str) -> dict[str, str]:
    """Why a check is red, if that is known."""
    return {"cause": FINDINGS.get(name, {}).get(check.partition("[")[0], "")}


def _row(evidence: Evidence) -> dict[str, Any]:
    """A problem and its numbers, to two digits: the third depends on the processor."""
    measured = {
        name: float(f"{value:.2g}") if isinstance(value, float) else value
        for name, value in evidence.measured.items()
        if len(str(value)) <= LONG
    }
    return {"problem": evidence.problem, "measured": measured}
