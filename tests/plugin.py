"""The pytest plugin: it brings ``--model`` and what goes with it, and ends with the first thing to fix.

It is loaded with every pytest run in the environment, so it imports nothing heavy by itself.
"""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from blockproof.tests.checks.evidence import Evidence

MINIMUM = 6  # checks of the kind "must" that have to have run, for a verdict
KINDS = ("must", "ours")
CARRIED = "blockproof_check"  # the attribute of a report that says what a check found
CHECKS: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
KEPT: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
EVIDENCE: pytest.StashKey["Evidence"] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The seam's options; under ``--pyargs`` those of a conftest would come too late."""
    group = parser.getgroup("blockproof", "which model the conformance tests judge")
    for name, settings in {
        "--model": {
            "metavar": "FILE.py:FACTORY",
            "help": "or package.module:FACTORY, which returns an nn.Module",
        },
        "--vocab-size": {"type": int, "metavar": "V", "help": "valid ids are below it (default: found)"},
        "--context": {
            "type": int,
            "metavar": "T",
            "help": "the longest sequence, in tokens (default: found)",
        },
        "--label-shift": {
            "choices": ("inside", "before"),
            "help": "whether the model shifts its labels itself (default: inside for an argument 'labels')",
        },
        "--ignore-index": {
            "type": int,
            "metavar": "ID",
            "help": "the label that asks for nothing (default: found)",
        },
        "--check-seed": {"type": int, "default": 0, "metavar": "N", "help": "of models and ids (default: 0)"},
        "--check-threads": {"type": int, "default": 1, "metavar": "N", "help": "of torch (default: 1)"},
        "--evidence": {"metavar": "FILE", "help": "write what was measured, as JSON"},
    }.items():
        group.addoption(name, **settings)  # type: ignore[arg-type]


def pytest_configure(config: pytest.Config) -> None:
    """Name the two kinds of check, and listen to what comes of them."""
    config.addinivalue_line("markers", "must: holds for any decoder; a violation is red")
    config.addinivalue_line("markers", "ours: a promise of this project; a remark about a foreign model")
    config.stash[CHECKS], config.stash[KEPT] = {}, {}
    config.pluginmanager.register(Listener(config))


class Listener:
    """Takes what a report carries, here or in the process that gathers the reports of several workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.checks = config.stash[CHECKS]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a check found."""
        self.checks |= getattr(report, CARRIED, {})


@pytest.fixture
def judge(request: pytest.FixtureRequest) -> Callable[["Evidence"], None]:
    """Records the evidence of a check, and fails if it shows a problem."""

    def record(evidence: "Evidence") -> None:
        request.node.stash[EVIDENCE] = evidence
        if not evidence.sound:
            pytest.fail(f"{evidence.problem}\n{evidence.remedy}", pytrace=False)

    return record


@pytest.fixture
def keep(request: pytest.FixtureRequest) -> Callable[[str, str, Any], None]:
    """Puts JSON data into the evidence: the part of it, a name, the data."""

    def record(part: str, name: str, data: Any) -> None:
        request.config.stash[KEPT].setdefault(part, {})[name] = data

    return record


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Keep what each check found; of a foreign model, a broken promise of ours is a remark."""
    report = (yield).get_result()
    kind = next((kind for kind in KINDS if item.get_closest_marker(kind)), None)
    if kind is None or (report.when != "call" and report.outcome == "passed"):
        return
    outcome = report.outcome
    if kind == "ours" and report.failed and item.config.getoption("--model"):
        outcome, report.outcome = "remark", "skipped"
        report.longrepr = (str(item.path), 0, f"remark: {_reason(report)}")
    evidence = item.stash.get(EVIDENCE, None)
    found = {
        "test": getattr(item, "originalname", item.name),
        "model": str(item.callspec.params.get("model", "")) if hasattr(item, "callspec") else "",
        "kind": kind,
        "outcome": outcome,
        "measured": dict(evidence.measured) if evidence else {},
        "bound": evidence.bound if evidence else "",
        "problem": evidence.problem if evidence else "",
        "remedy": evidence.remedy if evidence else "",
        "reason": _reason(report) if report.outcome != "passed" else "",
    }
    setattr(report, CARRIED, {item.nodeid.rpartition("::")[2]: found})


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the evidence; a foreign model of which too little could be checked is not judged."""
    checks, kept = session.config.stash[CHECKS], session.config.stash[KEPT]
    if path := session.config.getoption("--evidence"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(json.dumps({"checks": checks, **kept}, indent=1), encoding="utf-8")
    if session.config.getoption("--model") and session.exitstatus == 0 and _judged(checks) < MINIMUM:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last words, behind all of pytest's own: the verdict, or the first thing to fix and how."""
    lines = _last_words(config.stash.get(CHECKS, {}), config.getoption("--model", None))
    if lines:
        writer = config.get_terminal_writer()
        writer.sep("=", lines[0], bold=True)
        for line in lines[1:]:
            writer.line(line)


def _last_words(checks: dict[str, Any], model: str | None) -> list[str]:
    """A heading and a paragraph; nothing where there is nothing to say."""
    faults = [(name, each) for name, each in checks.items() if each["outcome"] == "failed"]
    if faults:
        name, first = faults[0]  # the tests run in the order in which their causes are to be looked at
        lines = ["first thing to fix", f"{name}: {first['problem'] or first['reason']}"]
        lines += [f"Remedy: {first['remedy']}"] if first["remedy"] else []
        more = len(faults) - 1
        return lines + ([f"Then run again: {more} more may follow from it."] if more else [])
    if not (checks and model):
        return []
    ran, remarks = _judged(checks), sum(each["outcome"] == "remark" for each in checks.values())
    verdict = "no fault found" if ran >= MINIMUM else f"not judged: fewer than {MINIMUM} checks could run"
    return [
        "verdict",
        f"{model}: {verdict}; {ran} checks that any decoder must pass ran, {remarks} remarks.",
    ]


def _judged(checks: dict[str, Any]) -> int:
    return sum(each["kind"] == "must" and each["outcome"] in ("passed", "failed") for each in checks.values())


def _reason(report: pytest.TestReport) -> str:
    """Why a test failed or was skipped, in one line."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    told = crash.message if crash else str(report.longrepr or "")
    first = next((line.strip() for line in told.splitlines() if line.strip()), "")
    return first.removeprefix("Failed: ")
