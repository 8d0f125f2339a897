"""A cell: one run, described by plain data alone."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from blockproof.model.nested import leaves, with_values

PARTS = ("model", "train", "data")
HEALTHY = "none"  # the fault of a cell without one


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is run, on what, with which seed. Equal cells give equal results.

    Attributes:
        run: a key of ``runs.RUNS``.
        model: the fields of a ``ModelConfig``.
        train: the fields of a ``TrainConfig``; empty when nothing is trained.
        data: ``source`` and its fields; empty when no data are read.
        seed: of initialisation, batches and dropout. Variants that share a seed share all three.
        fault: a key of ``faults.FAULTS``; the code that runs has it.
    """

    run: str
    model: Mapping[str, Any]
    train: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    seed: int
    fault: str = HEALTHY

    def to_dict(self) -> dict[str, Any]:
        """As JSON data, with the keys of every part in order; a healthy cell does not mention faults."""
        return {
            key: dict(sorted(value.items())) if key in PARTS else value
            for key, value in asdict(self).items()
            if (key, value) != ("fault", HEALTHY)
        }

    @property
    def key(self) -> str:
        """A short name that equal cells share, on any machine and with any source code."""
        return digest(self.to_dict())

    @property
    def cost(self) -> float:
        """Roughly how long it takes, in an arbitrary unit; only used to show progress."""
        steps = self.train.get("steps", 1)
        return float(steps * (1 + self.model["n_layers"]))

    @property
    def paths(self) -> list[str]:
        """The dotted paths of all values that can be varied, such as ``model.norm.placement``."""
        parts = [f"{part}.{path}" for part in PARTS for path in leaves(getattr(self, part))]
        return [*parts, "seed", "fault"]

    def replace(self, changes: Mapping[str, Any]) -> "Cell":
        """A copy with the values at some dotted paths set."""
        return Cell(**with_values(self.to_dict(), changes))


def digest(data: object) -> str:
    """Sixteen hexadecimal digits that name JSON data."""
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
