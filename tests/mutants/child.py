"""What happens to one mutant: the change is planted, its tests are run, what failed is told."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from itertools import zip_longest
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from blockproof.ablations.patch import exchanged, planted
from blockproof.tests.mutants.harness import ROOT, Job, Outcome
from blockproof.tests.mutants.naive import NAIVE

PROJECT = f"{ROOT.parent}/"


class Watcher:
    """A plugin that folds the reports of a function's cases into one, and spares the rest once one fails."""

    def __init__(self, names: dict[str, str], *, reach: bool) -> None:
        self.names, self.failed, self.ran = names, dict[str, str](), set[str]()
        self.seconds, self.reached = dict[str, float](), dict[str, set[str]]()
        self.reach = reach

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Take the time of all of a test, and what it runs."""
        name, since = self.names[item.nodeid], time.process_time()
        if self.reach:
            reached = self.reached.setdefault(name, set())
            sys.setprofile(partial(_note, reached))
        yield
        sys.setprofile(None)
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - since

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Nothing more is to be learnt from a function that has failed."""
        if self.names[item.nodeid] in self.failed:
            pytest.skip("it has failed")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what failed, and why."""
        name = self.names[report.nodeid]
        if report.failed:
            self.failed.setdefault(name, first_line(report))
        elif report.when == "call" and report.passed:
            self.ran.add(name)

    def outcome(self, missed: list[str], error: str) -> Outcome:
        """All of it."""
        green = [name for name in self.seconds if name not in self.failed]
        return Outcome(
            failed=self.failed,
            passed=tuple(name for name in green if name in self.ran),
            skipped=tuple(name for name in green if name not in self.ran),
            missed=tuple(missed),
            error=error,
            seconds=self.seconds,
            reached={name: sorted(found) for name, found in self.reached.items()},
        )


def _note(reached: set[str], frame: FrameType, event: str, argument: Any) -> None:
    """A function of the project that is called, by its module and its path there."""
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(PROJECT):
        module = code.co_filename.removeprefix(PROJECT).removesuffix(".py").replace("/", ".")
        reached.add(f"{module}:{code.co_qualname}")


def first_line(report: pytest.TestReport) -> str:
    """Why a test failed, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else str(report.longrepr or "")).splitlines()
    return next((line.strip() for line in lines if line.strip()), "").removeprefix("Failed: ")


def name_of(item: pytest.Item) -> str:
    """The function of a test, from the folder ``tests/`` on."""
    path = item.path.resolve().relative_to(ROOT).as_posix()
    return f"{path}::{getattr(item, 'originalname', item.name)}"


def chosen(name: str, tests: tuple[str, ...]) -> bool:
    """Whether one of these functions, files and folders is it, or holds it."""
    return any(name == test or name.startswith((f"{test}::", f"{test}/")) for test in tests)


def child(collected: list[pytest.Item], names: dict[str, str], job: Job, writer: Connection) -> None:
    """Everything that happens to one mutant."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the tests' own bars would write over that of the jobs
    os.environ["PYTEST_DEBUG_TEMPROOT"] += f"/{os.getpid()}"
    Path(os.environ["PYTEST_DEBUG_TEMPROOT"]).mkdir()
    items = [item for item in collected if chosen(names[item.nodeid], job.tests)]
    watcher, missed, error = Watcher(names, reach=job.reach), list[str](), ""
    collected[0].config.pluginmanager.register(watcher)
    try:
        with _changed(job):
            for item, following in zip_longest(items, items[1:]):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if job.first and watcher.failed:
                    break
            missed = [name for name in job.naive if _misses(name)]
    except BaseException as problem:  # also what would end the process: the mutant is to blame
        error = f"{type(problem).__name__}: {problem}"
    writer.send(asdict(watcher.outcome(missed, error)))
    writer.close()


@contextmanager
def _changed(job: Job) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(planted(*job.patches))
        for name, source in job.sources:
            stack.enter_context(exchanged(name, source))
        yield


def _misses(name: str) -> bool:
    """Whether a naive check finds nothing."""
    try:
        NAIVE[name]()
    except Exception:
        return False
    return True
