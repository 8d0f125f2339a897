"""The matrix that the report tells of is that of these mutants and tests; ``make soak`` makes it again."""

from functools import cache
from typing import Any

import yaml

from blockproof.report import kept
from blockproof.tests.mutants.harness import ROOT
from blockproof.tests.mutants.matrix import digest
from blockproof.tests.mutants.syntax import SURVIVORS
from blockproof.tests.mutants.table import MUTANTS


@cache
def stored() -> dict[str, Any]:
    return kept.mutants()


def test_each_mutant_has_its_row() -> None:
    """A mutant that is new, or was changed since, makes it stale."""
    rows = {
        name: (row["change"], row["check"], row["equivalent"]) for name, row in stored()["mutants"].items()
    }
    assert rows == {mutant.name: (digest(mutant), mutant.check, mutant.equivalent) for mutant in MUTANTS}


def test_each_bug_died_by_the_check_that_it_names() -> None:
    wrong = {
        name: row["error"] or row["killed_by"]
        for name, row in stored()["mutants"].items()
        if not row["equivalent"] and row["check"] not in row["killed_by"]
    }
    assert wrong == {}


def test_its_tests_still_exist() -> None:
    texts = {
        file: (ROOT / file).read_text("utf-8") for file in {t.partition("::")[0] for t in stored()["tests"]}
    }
    lost = [
        test
        for test in stored()["tests"]
        if f"def {test.rpartition('::')[2]}(" not in texts[test.partition("::")[0]]
    ]
    assert lost == []


def test_the_survivors_are_those_that_have_a_reason() -> None:
    reasons = yaml.safe_load(SURVIVORS.read_text("utf-8"))
    assert sorted(stored()["syntax"]["survivors"]) == sorted(reasons)
