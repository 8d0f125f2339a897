"""Every check that the conformance tests run, run on any model: one list, read from those tests themselves."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from itertools import product
from types import ModuleType
from typing import Any

import pytest
import torch

from blockproof.tests.checks.evidence import Evidence
from blockproof.tests.conformance.conftest import ORDER, rank
from blockproof.tests.plugin import KINDS, MINIMUM
from blockproof.tests.seam.subject import Subject


@dataclass(frozen=True)
class Check:
    """A conformance test with one choice of its parameters.

    Attributes:
        name: as pytest shows it, without ``test_``.
        kind: ``must`` or ``ours``.
        test: the function, which takes a subject and a judge.
    """

    name: str
    kind: str
    test: Callable[..., None]


@dataclass(frozen=True)
class Verdict:
    """What the checks made of one model.

    Attributes:
        ran: names of the checks of kind ``must`` that came to a result.
        skipped: why others could not run, by name.
        red: what those found that found something wrong.
        remarks: problems that only a model of ours must not have.
    """

    ran: tuple[str, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    red: Mapping[str, Evidence] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def judged(self) -> bool:
        """Whether enough ran for a verdict, as for a user's model."""
        return len(self.ran) >= MINIMUM

    @property
    def told(self) -> str:
        """What is red, a line each."""
        return "\n".join(f"{name}: {evidence.problem}" for name, evidence in self.red.items())


@cache
def checks() -> tuple[Check, ...]:
    """All of them, in the order in which causes are to be looked at."""
    named = [
        (name, check)
        for name in ORDER
        for check in _of(import_module(f"blockproof.tests.conformance.{name}"))
    ]
    return tuple(check for _, check in sorted(named, key=lambda each: rank(each[0], f"test_{each[1].name}")))


def verdict(subject: Subject, chosen: tuple[Check, ...] | None = None) -> Verdict:
    """Judge a model by all checks, or by those chosen; each starts from the same seed."""
    ran: list[str] = []
    skipped: dict[str, str] = {}
    red: dict[str, Evidence] = {}
    remarks: dict[str, str] = {}
    for check in chosen or checks():
        found: list[Evidence] = []
        torch.manual_seed(subject.seed)
        try:
            check.test(judged=subject, judge=found.append)
        except pytest.skip.Exception as reason:
            skipped[check.name] = str(reason)
            continue
        except Exception as error:  # as in a test: what breaks the check is red
            told = " ".join(f"{type(error).__name__}: {error}".split())
            found.append(Evidence({}, "the check runs", told))
        strict = check.kind == "must" or subject.ours
        if strict:
            ran.append(check.name)
        for evidence in found:
            if not evidence.sound and strict:
                red[check.name] = evidence
            elif not evidence.sound:
                remarks[check.name] = evidence.problem
    return Verdict(tuple(ran), skipped, red, remarks)


def _of(module: ModuleType) -> Iterator[Check]:
    """The tests of a module, each with every choice of its parameters."""
    shared = _marks(module)
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if not name.startswith("test_"):
            continue
        marks = _marks(function)
        kind = next(mark.name for mark in [*marks, *shared] if mark.name in KINDS)
        sets = [_choices(mark) for mark in marks if mark.name == "parametrize"]
        for choice in product(*sets):
            label = f"[{'-'.join(label for label, _ in choice)}]" if choice else ""
            given = {key: value for _, values in choice for key, value in values.items()}
            yield Check(f"{name.removeprefix('test_')}{label}", kind, partial(function, **given))


def _marks(holder: Any) -> list[pytest.Mark]:
    marks: Any = getattr(holder, "pytestmark", [])
    every: list[Any] = marks if isinstance(marks, list) else [marks]
    return [getattr(mark, "mark", mark) for mark in every]


def _choices(mark: pytest.Mark) -> list[tuple[str, dict[str, Any]]]:
    """Label and value of each choice of a ``parametrize`` of one argument."""
    argument, values = mark.args
    return [(label, {argument: value}) for label, value in zip(mark.kwargs["ids"], values, strict=True)]
