"""Runs tests on mutants: one process imports and collects everything once, and forks a child for each mutant."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from blockproof.ablations.patch import Patch

ROOT = Path(__file__).resolve().parents[1]  # the folder that every test is named from
LIMIT = 60.0  # seconds for one child
# One thread in all libraries: a process that has started threads cannot be forked safely.
ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class HarnessError(RuntimeError):
    """The tests could not be collected; the message is what pytest told."""


@dataclass(frozen=True)
class Job:
    """A mutant, and what to run on it.

    Attributes:
        name: of the result.
        tests: test functions, files or folders below ``tests/``, without parameters.
        naive: names of naive checks.
        patches: the change.
        sources: or whole texts of modules, by their full names.
        first: whether to stop at the first failure.
        reach: whether to tell which functions each test runs; it takes twice as long.
    """

    name: str
    tests: tuple[str, ...]
    naive: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    first: bool = False
    reach: bool = False

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Job":
        """From what ``asdict`` made, through JSON."""
        return cls(
            name=values["name"],
            tests=tuple(values["tests"]),
            naive=tuple(values["naive"]),
            patches=tuple(Patch(**patch) for patch in values["patches"]),
            sources=tuple((name, text) for name, text in values["sources"]),
            first=values["first"],
            reach=values["reach"],
        )


@dataclass(frozen=True)
class Outcome:
    """What the tests made of a mutant; names are those of functions, all their parameters together.

    Attributes:
        failed: the first line of what went wrong, by test, in the order in which they ran.
        passed: tests that ran and were green throughout.
        skipped: tests of which every case was skipped.
        missed: naive checks that found nothing.
        error: why there is no result: a patch that does not fit, a time-out, a crash.
        seconds: of the processor, by test.
        reached: the project's functions that each test runs, as ``module:path``, if they were asked for.
    """

    failed: dict[str, str]
    passed: tuple[str, ...]
    skipped: tuple[str, ...]
    missed: tuple[str, ...]
    error: str
    seconds: dict[str, float] = field(default_factory=dict)
    reached: dict[str, list[str]] = field(default_factory=dict)

    @property
    def red(self) -> list[str]:
        """The tests that failed."""
        return list(self.failed)


def run(
    jobs: Sequence[Job], *, limit: float = LIMIT, children: int | None = None, progress: bool = False
) -> dict[str, Outcome]:
    """The outcome of every job, by its name; two children at a time on two cores, and a bar if it is wanted.

    Raises:
        HarnessError: if a test does not exist, or its file cannot be imported.
    """
    if len({job.name for job in jobs}) < len(jobs):
        raise ValueError("two jobs have the same name")
    if not any(job.tests for job in jobs):
        raise ValueError("no job names a test, and pytest would take that for all tests")
    with TemporaryDirectory() as folder:
        number = children or os.cpu_count() or 1
        given = {
            "limit": limit,
            "children": number,
            "progress": progress,
            "jobs": [asdict(job) for job in jobs],
        }
        (Path(folder) / "jobs.json").write_text(json.dumps(given), "utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "blockproof.tests.mutants.server", folder],
            env={**os.environ, **ALONE, "PYTEST_DEBUG_TEMPROOT": folder},
            stdout=subprocess.PIPE,
            stderr=None if progress else subprocess.PIPE,
            text=True,
            check=False,
        )
        results = Path(folder) / "results.json"
        if not results.exists():
            told = done.stderr or ""  # on the terminal, if a bar was wanted
            raise HarnessError(f"no mutant ran:\n{done.stdout[-3000:]}\n{told[-3000:]}")
        outcomes = json.loads(results.read_text("utf-8"))
    return {name: _outcome(each) for name, each in outcomes.items()}


def _outcome(told: dict[str, Any]) -> Outcome:
    """What a child told, its lists as tuples."""
    fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in told.items()}
    return Outcome(**fields)
