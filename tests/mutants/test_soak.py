"""The whole matrix of mutants and checks, and a sample of changes of syntax; it writes ``report/mutants.json``."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from blockproof.tests.mutants.harness import ROOT, Job, Outcome, run
from blockproof.tests.mutants.matrix import BLACK_BOX, LIMIT, measure, table
from blockproof.tests.mutants.syntax import MODULES, SURVIVORS, sample
from blockproof.tests.mutants.table import BY_NAME, MUTANTS

pytestmark = pytest.mark.soak

FILE = ROOT.parent / "report" / "mutants.json"
WIDE = (
    BLACK_BOX, "contract", "unit/checks", "unit/test_cache.py", "unit/test_config.py", "unit/test_count.py",
    "unit/test_describe.py", "unit/test_generate.py", "unit/test_init.py", "unit/test_sampling.py",
    "unit/test_synthetic.py", "unit/test_trainer.py", "unit/test_transformer.py", "unit/test_xiong.py",
)  # fmt: skip
DIAGNOSED = 0.9  # share of the bugs that the black box is to name, that it names first

Written = dict[str, Any]


@pytest.fixture(scope="module")
def written() -> Iterator[Written]:
    """All that is measured; the file is written even if a test then turns red."""
    found: Written = {}
    yield found
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


@pytest.fixture(scope="module")
def matrix(written: Written) -> Written:
    written |= table(MUTANTS, measure(MUTANTS))
    return written


def test_every_bug_dies_by_the_check_that_it_names(matrix: Written) -> None:
    rows = matrix["mutants"]
    assert [name for name, row in rows.items() if row["error"]] == []
    wrong = {
        n: row["killed_by"]
        for n, row in rows.items()
        if not row["equivalent"] and row["check"] not in row["killed_by"]
    }
    assert wrong == {}


def test_what_is_no_bug_stays_green(matrix: Written) -> None:
    """Everywhere; what is only another convention, in the black box."""
    for name, row in matrix["mutants"].items():
        if row["equivalent"]:
            assert row["first"] is None, name
            assert row["killed_by"] == [] or BY_NAME[name].check.startswith(BLACK_BOX), name


def test_naive_checks_miss_what_they_are_said_to_miss(matrix: Written) -> None:
    rows = matrix["mutants"].items()
    assert [name for name, row in rows if row["naive"] in row["naive_killed_by"]] == []


def test_the_black_box_names_the_cause_first(matrix: Written) -> None:
    found = matrix["summary"]
    assert found["diagnosed"] >= DIAGNOSED * found["to_be_diagnosed"], found["diagnosed_otherwise"]


def test_changes_of_syntax_die_or_are_known_to_change_nothing(written: Written) -> None:
    """A survivor that is not in the list needs a test or a reason; one in the list that dies is to be taken out."""
    known = yaml.safe_load(SURVIVORS.read_text("utf-8"))
    drawn, outside = sample()
    survivors = surviving()
    written["syntax"] = {"drawn": len(drawn), "outside of functions": outside, "survivors": survivors}
    assert set(survivors) - set(known) == set(), "these survive without a reason"
    assert (set(known) & set(drawn)) - set(survivors) == set(), (
        "these die, though they are said to change nothing"
    )
    assert set(known) - set(drawn) == set(), "these are no longer drawn"


def surviving() -> list[str]:
    """What neither the tests of its module nor the wider ones catch; a time-out is a death."""
    drawn, _ = sample()
    own = run(
        [job(name, MODULES[change.module]) for name, change in drawn.items()], limit=LIMIT, progress=True
    )
    left = [name for name, outcome in own.items() if alive(outcome)]
    wide = run([job(name, WIDE) for name in left], limit=LIMIT, progress=True) if left else {}
    return sorted(name for name in left if alive(wide[name]))


def job(name: str, tests: tuple[str, ...]) -> Job:
    change = sample()[0][name]
    return Job(name, tests, sources=((f"blockproof.model.{change.module}", change.source),), first=True)


def alive(outcome: Outcome) -> bool:
    return not outcome.failed and not outcome.error
