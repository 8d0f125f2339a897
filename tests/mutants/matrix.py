"""Every mutant against every check that runs what it changes: who catches what, and what nobody else would."""

import ast
import hashlib
import importlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blockproof.ablations.patch import Patch, functions
from blockproof.tests.mutants.catalogue import CLASSES
from blockproof.tests.mutants.harness import Job, Outcome, run
from blockproof.tests.mutants.mutant import Mutant
from blockproof.tests.mutants.naive import NAIVE

BLACK_BOX = "conformance"
HEALTHY = "no change"
LONGEST = 1.0  # seconds; a test that takes longer is run on the mutants that name it, and with the black box
LIMIT = 900.0

Outcomes = Mapping[str, Outcome]


def measure(mutants: Sequence[Mutant]) -> dict[str, Outcome]:
    """Run them all; first, without a change, find what each test runs and how long it takes."""
    named = sorted({mutant.check for mutant in mutants if "::" in mutant.check})
    healthy = run([Job(HEALTHY, (BLACK_BOX, *named), tuple(NAIVE), reach=True)], limit=LIMIT)[HEALTHY]
    if healthy.error or healthy.failed:
        raise AssertionError(f"red without a change: {healthy.error} {healthy.failed}")
    jobs = [Job(m.name, columns(m, healthy), tuple(NAIVE), m.patches) for m in mutants]
    return {HEALTHY: healthy, **run(jobs, limit=LIMIT, progress=True)}


def columns(mutant: Mutant, healthy: Outcome) -> tuple[str, ...]:
    """The tests that may notice: those that run a function that is changed, and are short, or are named."""
    changed = touched(mutant.patches)
    return tuple(
        test
        for test, reached in healthy.reached.items()
        if test == mutant.check
        or (changed & set(reached) and (healthy.seconds[test] < LONGEST or test.startswith(f"{BLACK_BOX}/")))
    )


def touched(patches: Sequence[Patch]) -> set[str]:
    """The functions whose text is another, as ``module:path``."""
    sources: dict[str, str] = {}
    for patch in patches:
        sources[patch.name] = patch.source(sources.get(patch.name))
    found = set()
    for name, source in sources.items():
        file = importlib.import_module(name).__file__ or ""
        before, after = (dict(functions(ast.parse(text))) for text in (Path(file).read_text("utf-8"), source))
        module = name.removeprefix("blockproof.")
        found |= {
            f"{module}:{path}" for path, node in before.items() if ast.dump(node) != ast.dump(after[path])
        }
    return found


def table(mutants: Sequence[Mutant], outcomes: Outcomes) -> dict[str, Any]:
    """Plain data of what was found, the same every time."""
    rows = {mutant.name: row(mutant, outcomes[mutant.name]) for mutant in mutants}
    return {
        "tests": sorted(outcomes[HEALTHY].passed),
        "naive": list(NAIVE),
        "classes": CLASSES,
        "mutants": rows,
        "summary": summary(mutants, rows),
    }


def digest(mutant: Mutant) -> str:
    """Of its patches, by which a stored row is known to be of another change."""
    return hashlib.sha256(repr(mutant.patches).encode()).hexdigest()[:12]


def row(mutant: Mutant, outcome: Outcome) -> dict[str, Any]:
    """One mutant: what it is, and who catches it."""
    return {
        "rows": list(mutant.rows),
        "source": list(mutant.source),
        "change": digest(mutant),
        "check": mutant.check,
        "naive": mutant.naive,
        "equivalent": mutant.equivalent,
        "killed_by": sorted(outcome.failed),
        "first": next((test for test in outcome.failed if test.startswith(f"{BLACK_BOX}/")), None),
        "naive_killed_by": [name for name in NAIVE if name not in outcome.missed],
        "error": outcome.error,
    }


def summary(mutants: Sequence[Mutant], rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Rates over all mutants that are bugs."""
    bugs = [mutant for mutant in mutants if not mutant.equivalent]
    found = {mutant.name: rows[mutant.name] for mutant in bugs}
    black_box = {name: each for name, each in found.items() if each["check"].startswith(f"{BLACK_BOX}/")}
    alone: dict[str, list[str]] = {}
    for name, each in found.items():
        if len(each["killed_by"]) == 1:
            alone.setdefault(each["killed_by"][0], []).append(name)
    return {
        "bugs": len(bugs),
        "reports": len({report for mutant in bugs for report in mutant.rows}),
        "killed": sum(bool(each["killed_by"]) for each in found.values()),
        "killed_by_its_check": sum(each["check"] in each["killed_by"] for each in found.values()),
        "killed_by_the_black_box": sum(each["first"] is not None for each in found.values()),
        "killed_by_a_naive_check": sum(bool(each["naive_killed_by"]) for each in found.values()),
        "killed_by_naive": dict(
            sorted(Counter(n for e in found.values() for n in e["naive_killed_by"]).items())
        ),
        "diagnosed": sum(each["first"] == each["check"] for each in black_box.values()),
        "to_be_diagnosed": len(black_box),
        "diagnosed_otherwise": {
            name: [each["check"], each["first"]]
            for name, each in sorted(black_box.items())
            if each["first"] != each["check"]
        },
        "killing_alone": len(alone),
        "killed_by_nothing_else": dict(sorted(alone.items())),
    }
