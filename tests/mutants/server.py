"""The process behind ``harness.run``: collects tests once, then forks a child for each mutant.

A child plants the mutant, runs its tests on what was collected before, tells what failed, and ends.
"""

import gc
import json
import multiprocessing
import sys
import time
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo  # the first optimizer imports it: once here, not once in every child
from tqdm import tqdm

from blockproof.tests.mutants.child import child, name_of
from blockproof.tests.mutants.harness import ROOT, Job, Outcome

# Own settings, so that it is alike in the checkout and installed; capturing would share a file among children.
OPTIONS = ("-p", "no:cacheprovider", "--import-mode=importlib", "-o", "addopts=", "-W", "error", "-q", "-s")

Running = tuple[ForkProcess, Connection, str, float]


class Server:
    """A plugin that runs jobs instead of tests."""

    def __init__(self, folder: Path) -> None:
        given = json.loads((folder / "jobs.json").read_text("utf-8"))
        self.folder, self.limit, self.children = folder, given["limit"], given["children"]
        self.quiet = not given["progress"]
        self.jobs = [Job.from_dict(values) for values in given["jobs"]]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All jobs, some at a time, each in a child that is killed at the limit."""
        if session.testsfailed:
            return False  # a file could not be imported: pytest tells which
        names = {item.nodeid: name_of(item) for item in session.items}
        gc.collect()
        gc.freeze()  # what is there now is never looked at again: a child would copy the memory that it touches
        fork, waiting, running = multiprocessing.get_context("fork"), list(self.jobs), list[Running]()
        results: dict[str, dict[str, Any]] = {}
        tqdm.monitor_interval = 0  # it would start a thread, and what has threads cannot be forked safely
        bar = tqdm(total=len(waiting), unit="job", dynamic_ncols=True, smoothing=0, disable=self.quiet)
        while waiting or running:
            while waiting and len(running) < self.children:
                job = waiting.pop(0)
                reader, writer = fork.Pipe(duplex=False)
                process = fork.Process(target=child, args=(session.items, names, job, writer), name=job.name)
                process.start()
                writer.close()
                running.append((process, reader, job.name, time.monotonic()))
            wait([reader for _, reader, _, _ in running], timeout=1.0)
            for each in list(running):
                if (result := self.result(each)) is not None:
                    results[each[2]] = result
                    running.remove(each)
                    bar.update()
        bar.close()
        (self.folder / "results.json").write_text(json.dumps(results), "utf-8")
        return True

    def result(self, running: Running) -> dict[str, Any] | None:
        """What a child told, if it has ended or is to be ended; None if it is to go on."""
        process, reader, _, since = running
        seconds, error = time.monotonic() - since, ""
        if reader.poll():
            try:
                told: dict[str, Any] = reader.recv()
                process.join()
                return told
            except EOFError:
                process.join()
                error = f"the process ended with {process.exitcode}"
        elif seconds > self.limit:
            process.kill()
            process.join()
            error = f"time-out after {self.limit:g} s"
        return asdict(Outcome({}, (), (), (), error)) if error else None


def main(folder: str) -> int:
    """Collect what the jobs ask for, then run them."""
    torch.set_num_threads(1)
    server = Server(Path(folder))
    tests = dict.fromkeys(test for job in server.jobs for test in job.tests)
    return int(pytest.main([*OPTIONS, *(str(ROOT / test) for test in tests)], plugins=[server]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
