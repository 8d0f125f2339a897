"""Each fault of the gallery is caught by the test that it names, and by nothing else but the fault."""

from collections.abc import Callable
from typing import Any

import pytest

from blockproof.ablations.cell import HEALTHY
from blockproof.ablations.faults import FAULTS
from blockproof.tests.mutants.harness import Job, Outcome, run

FAULTY = [name for name in FAULTS if name != HEALTHY]
LONGEST = 160  # characters of what a test says


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """The named tests with each fault, and all of them without any."""
    jobs = [Job(name, (FAULTS[name].check,), patches=FAULTS[name].patches) for name in FAULTY]
    return run([Job(HEALTHY, tuple(FAULTS[name].check for name in FAULTY)), *jobs])


def test_sound_code_is_green(outcomes: dict[str, Outcome]) -> None:
    sound = outcomes[HEALTHY]
    assert (sound.red, sound.skipped, sound.error) == ([], (), "")
    assert set(sound.passed) == {FAULTS[name].check for name in FAULTY}


@pytest.mark.parametrize("name", FAULTY)
def test_fault_is_caught(
    name: str, outcomes: dict[str, Outcome], keep: Callable[[str, str, Any], None]
) -> None:
    fault, found = FAULTS[name], outcomes[name]
    told = found.failed.get(fault.check, found.error)
    keep(
        "gallery",
        name,
        {
            "says": fault.says,
            "check": fault.check,
            "outcome": "red" if found.red else "green",
            "told": told[:LONGEST].replace("|", "¦"),
        },
    )
    assert (found.red, found.error) == ([fault.check], "")
