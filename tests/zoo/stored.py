"""The stored result of judging all architectures: ``report/zoo.json``, written row by row by the soak run."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from blockproof.tests.zoo.judging import checks

FILE = Path(__file__).resolve().parents[2] / "report" / "zoo.json"


def stored() -> dict[str, Any]:
    """What is in the file; no rows where there is none, or it is of other versions or checks."""
    head = {
        "versions": {name: version(name).partition("+")[0] for name in ("torch", "transformers")},
        "checks": [check.name for check in checks()],
    }
    if FILE.exists():
        found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
        if all(found.get(key) == value for key, value in head.items()):
            return found
    return {**head, "architectures": {}}


def store(name: str, row: dict[str, Any]) -> None:
    """Put a row into its place; rows of other architectures stay."""
    found = stored()
    rows = {**found["architectures"], name: row}
    found["architectures"] = dict(sorted(rows.items()))
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
