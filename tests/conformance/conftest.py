"""The models that the checks judge: every combination of the variants that they must hold for."""

from itertools import product
from typing import Any

import pytest

VARIANTS = [
    {"placement": placement, "residual": residual, "position": position}
    for placement, residual, position in product(("pre", "post"), ("add", "none"), ("learned", "none"))
]


@pytest.fixture(params=VARIANTS, ids=lambda variant: "-".join(variant.values()))
def variant(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Fields of a ``ModelConfig``."""
    fields: dict[str, Any] = request.param
    return fields
