"""The models that the checks judge: every variant of every part, and the ablated ones in combination."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from blockproof.model.attention import ATTENTIONS
from blockproof.model.feedforward import FEEDFORWARDS
from blockproof.model.nested import leaves, with_values
from blockproof.model.norm import NORMS
from blockproof.model.position import POSITIONS
from blockproof.model.residual import PLACEMENTS, RESIDUALS
from blockproof.tests.helpers import tiny_config

CROSSED = [
    {"norm.placement": placement, "residual.kind": residual, "position": position}
    for placement, residual, position in product(("pre", "post"), ("add", "none"), ("learned", "none"))
]
TABLES: dict[str, Iterable[str]] = {
    "attention.kind": ATTENTIONS,
    "feedforward.kind": FEEDFORWARDS,
    "norm.kind": NORMS,
    "norm.placement": PLACEMENTS,
    "residual.kind": RESIDUALS,
    "position": POSITIONS,
}
# The others alone; without attention a model sees no past, which its own tests say.
LEFT_OUT = {*leaves(tiny_config().to_dict()).items(), *(pair for c in CROSSED for pair in c.items())}
LEFT_OUT.add(("attention.kind", "none"))
SINGLE = [{path: kind} for path, table in TABLES.items() for kind in table if (path, kind) not in LEFT_OUT]
FIXED: dict[str, Any] = {"feedforward.width": 20}  # SwiGLU needs a stated width in so small a model


def named(changes: dict[str, str]) -> str:
    """A readable id."""
    return "-".join(changes.values())


@pytest.fixture(params=CROSSED + SINGLE, ids=named)
def variant(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Fields of a ``ModelConfig``: every variant."""
    changes: dict[str, Any] = request.param
    width = FIXED if changes.get("feedforward.kind") == "swiglu" else {}
    return with_values({}, {**changes, **width})


@pytest.fixture(params=CROSSED, ids=named)
def ablated(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Fields of a ``ModelConfig``: the combinations that the ablations train."""
    return with_values({}, request.param)
