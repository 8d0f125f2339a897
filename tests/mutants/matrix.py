"""Every mutant against the tests that it is about: who catches what, and what the black box says first."""

from collections.abc import Mapping, Sequence
from typing import Any

from blockproof.tests.mutants.harness import Job, Outcome, run
from blockproof.tests.mutants.mutant import Mutant
from blockproof.tests.mutants.naive import NAIVE

BLACK_BOX = "conformance"
LIMIT = 900.0

Outcomes = Mapping[str, Outcome]


def measure(mutants: Sequence[Mutant]) -> dict[str, Outcome]:
    """Run them all: those of the black box against the whole of it, others against the test that they name.

    Each is shown to the naive check that it names as well.
    """
    jobs = [Job(m.name, (asked(m),), (m.naive,) if m.naive in NAIVE else (), m.patches) for m in mutants]
    return run(jobs, limit=LIMIT)


def asked(mutant: Mutant) -> str:
    """What is run on it."""
    return BLACK_BOX if mutant.check.startswith(BLACK_BOX) else mutant.check


def table(mutants: Sequence[Mutant], outcomes: Outcomes) -> dict[str, Any]:
    """Plain data of what was found, the same every time."""
    rows = {mutant.name: row(mutant, outcomes[mutant.name]) for mutant in mutants}
    return {"mutants": rows, "summary": summary(mutants, rows)}


def row(mutant: Mutant, outcome: Outcome) -> dict[str, Any]:
    """One mutant: what it is, and who catches it."""
    return {
        "rows": list(mutant.rows),
        "source": list(mutant.source),
        "check": mutant.check,
        "naive": mutant.naive,
        "equivalent": mutant.equivalent,
        "asked": asked(mutant),
        "killed_by": sorted(outcome.failed),
        "first": next((test for test in outcome.failed if test.startswith(f"{BLACK_BOX}/")), None),
        "missed_by_naive": mutant.naive in outcome.missed,
        "error": outcome.error,
    }


def summary(mutants: Sequence[Mutant], rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Rates over all mutants that are bugs."""
    bugs = [mutant for mutant in mutants if not mutant.equivalent]
    found = {mutant.name: rows[mutant.name] for mutant in bugs}
    black_box = {name: each for name, each in found.items() if each["asked"] == BLACK_BOX}
    return {
        "bugs": len(bugs),
        "reports": len({report for mutant in bugs for report in mutant.rows}),
        "killed_by_its_check": sum(each["check"] in each["killed_by"] for each in found.values()),
        "missed_by_naive": sum(each["missed_by_naive"] for each in found.values()),
        "diagnosed": sum(each["first"] == each["check"] for each in black_box.values()),
        "to_be_diagnosed": len(black_box),
        "diagnosed_otherwise": {
            name: [each["check"], each["first"]]
            for name, each in sorted(black_box.items())
            if each["first"] != each["check"]
        },
    }
