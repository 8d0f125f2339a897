"""Evidence of a test suite that did not run: every kind of outcome, and values that are all different."""

import copy
import random
from typing import Any

CURVE = "2.5 1.25 0.5 0.25"


def check(test: str, model: str, outcome: str = "passed", **measured: Any) -> dict[str, Any]:
    """What the plugin keeps of one test."""
    return {
        "test": test, "model": model, "kind": "ours" if "limits" in test else "must", "outcome": outcome,
        "measured": measured, "bound": "at most 1e-05", "problem": "", "remedy": "",
        "reason": "the model has no cache" if outcome == "skipped" else "",
    }  # fmt: skip


BASE: dict[str, Any] = {
    "checks": {
        "test_leaks[gpt]": check("test_leaks", "gpt", leak=1.5e-7, places=16),
        "test_leaks[llama]": check("test_leaks", "llama", leak=2.5e-7, places=16),
        "test_limits[gpt]": check("test_limits", "gpt", "failed", told="IndexError"),
        "test_decodes[gpt]": check("test_decodes", "gpt", "skipped"),
        **{
            f"test_learns[{model}]": check(
                "test_learns_a_tiny_batch_to_its_floor", model, floor=0.25, curve=CURVE, final=0.26
            )
            for model in ("gpt", "llama")
        },
    },
    "claims": {
        "B2": {
            "says": "scores are scaled by 1/sqrt(2)", "verdict": "holds",
            "evidence": "The ratio is {ratio:.3f} at {heads} heads, off by {off:.1e}, of {what}.",
            "values": {"ratio": 1.7321, "heads": 3, "off": -2.5e-16, "what": "all scores"},
        },
        "A3": {
            "says": "weights are 0", "verdict": "does not hold",
            "evidence": "It is {largest}.", "values": {"largest": 0.125},
        },
    },
    "gallery": {
        "no mask": {
            "says": "every place attends to all", "check": "test_causality.py::test_leak", "outcome": "red",
            "told": "a logit depends on a later token",
        },
        "no shift": {"says": "copies", "check": "test_labels.py::test_shift", "outcome": "green", "told": ""},
    },
    "pictures": {
        "attention": {
            "layer": 1, "head": 2, "tokens": [0, 1, 7], "weights": [[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]],
        }
    },
}  # fmt: skip


def evidence() -> dict[str, Any]:
    """A copy that may be changed."""
    return copy.deepcopy(BASE)


def measured(seed: int) -> dict[str, Any]:
    """Every number by a factor of its own."""
    chance, found = random.Random(seed), evidence()

    def other(value: Any) -> Any:
        if isinstance(value, float):
            return value * chance.uniform(1.05, 1.5)
        return value + chance.randint(1, 9) if isinstance(value, int) else value

    for part in ("checks", "claims"):
        for each in found[part].values():
            values = "measured" if part == "checks" else "values"
            each[values] = {name: other(value) for name, value in each[values].items()}
    return found


def ended(outcome: str) -> dict[str, Any]:
    """Of every check that ran, the same outcome, and one run more of the first."""
    found = evidence()
    for each in found["checks"].values():
        each["outcome"] = outcome if each["outcome"] != "skipped" else "skipped"
    for test in ("leaks", "limits", "learns"):
        found["checks"][f"test_{test}[more]"] = {**found["checks"][f"test_{test}[gpt]"], "model": "more"}
    return found
