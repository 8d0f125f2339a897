"""Every reported bug that is planted here is caught by the test that is to catch it."""

import re
from collections import Counter
from collections.abc import Mapping

import pytest

from blockproof.tests.mutants.catalogue import CLASSES, rows
from blockproof.tests.mutants.harness import ROOT, Job, Outcome, run
from blockproof.tests.mutants.mutant import Mutant
from blockproof.tests.mutants.naive import NAIVE
from blockproof.tests.mutants.table import BY_NAME, MUTANTS

ROWS = 100  # reports that are planted at least; there are 242
HEALTHY = "no change"

Outcomes = Mapping[str, Outcome]


def job(mutant: Mutant) -> Job:
    """The test that a mutant names, up to the first failure."""
    return Job(mutant.name, (mutant.check,), (), mutant.patches, first=True)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Outcomes:
    """Of all mutants that tests of this session ask for, in one go."""
    asked = [
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and hasattr(item, "callspec")
        and "name" in item.callspec.params
    ]
    jobs = [Job(HEALTHY, ("unit/test_labels.py",), tuple(NAIVE))]
    return run([*jobs, *(job(BY_NAME[name]) for name in dict.fromkeys(asked))], limit=300)


@pytest.mark.parametrize("name", [mutant.name for mutant in MUTANTS if not mutant.equivalent])
def test_dies_by_the_check_that_it_names(name: str, outcomes: Outcomes) -> None:
    mutant, outcome = BY_NAME[name], outcomes[name]
    assert not outcome.error
    assert outcome.red == [mutant.check]


@pytest.mark.parametrize("name", [mutant.name for mutant in MUTANTS if mutant.equivalent])
def test_what_is_no_bug_stays_green(name: str, outcomes: Outcomes) -> None:
    assert not outcomes[name].error
    assert outcomes[name].failed == {}
    assert outcomes[name].passed


def test_naive_checks_find_nothing_where_nothing_is_wrong(outcomes: Outcomes) -> None:
    """That the others are green without a change, they show in this very run: they are tests of the suite."""
    assert outcomes[HEALTHY].missed == tuple(NAIVE)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_is_told_apart_and_where_it_was_reported(mutant: Mutant) -> None:
    reported = {source for row in mutant.rows for source in rows()[row]}
    assert set(mutant.source) <= reported
    assert bool(mutant.source) == bool(mutant.rows)
    assert (ROOT / mutant.check.partition("::")[0]).exists()
    assert mutant.naive in NAIVE or " " in mutant.naive, "neither a naive check nor a reason"
    assert all(patch.old != patch.new for patch in mutant.patches)


def test_no_two_are_alike() -> None:
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1
    assert max(Counter(mutant.patches for mutant in MUTANTS).values()) == 1


def test_enough_reports_are_planted() -> None:
    assert len({row for mutant in MUTANTS if not mutant.equivalent for row in mutant.rows}) >= ROWS


def test_reports_have_a_class_and_a_source() -> None:
    assert len(rows()) == 242
    for row, sources in rows().items():
        assert re.fullmatch(r"[A-Z]\d\d", row)
        assert row[0] in CLASSES
        assert sources
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+|https://\S+", source) for source in sources)
