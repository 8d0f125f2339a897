"""What was reported as a fault and is none stays green under every check that could be misled by it."""

from collections.abc import Callable
from typing import Any

import pytest

from blockproof.tests.mutants.catalogue import rows
from blockproof.tests.seam.subject import Subject, subject
from blockproof.tests.zoo.judging import Check, checks, verdict
from blockproof.tests.zoo.not_faults import COMPUTATIONS, MODELS, NOT_EXPRESSED, NotFault

Keep = Callable[[str, str, Any], None]


def _label(row: NotFault) -> str:
    return f"{row.id} {row.told}"


@pytest.fixture(params=MODELS, ids=_label)
def row(request: pytest.FixtureRequest) -> NotFault:
    """One report, and the model that does what it tells of."""
    return request.param


def _asked(row: NotFault) -> tuple[Check, ...]:
    return tuple(check for check in checks() if check.name.startswith(row.asked))


def _judged(row: NotFault) -> Subject:
    return subject(row.id, row.build)


def test_the_checks_that_could_flag_it_are_green(row: NotFault, keep: Keep) -> None:
    found = verdict(_judged(row), _asked(row))
    assert not found.red, found.told
    unseen = [name for name in row.asked if not any(ran.startswith(name) for ran in found.ran)]
    assert not unseen, f"these came to no result: {found.skipped}"
    keep("not faults", _label(row), {"where": row.where, "why": row.why, "green": list(found.ran)})


@pytest.mark.soak
def test_no_check_flags_it(row: NotFault) -> None:
    found = verdict(_judged(row))
    assert not found.red, found.told
    assert found.judged


def test_every_such_report_is_dealt_with() -> None:
    told = {number: sources for number, sources in rows().items() if number.startswith("Z")}
    by_model = {row.id: row.where for row in MODELS}
    assert {*by_model, *COMPUTATIONS, *NOT_EXPRESSED} == set(told)
    for number, where in (by_model | COMPUTATIONS).items():
        assert where in told[number]
