"""Figures are drawn in each theme."""

import pytest

from blockproof.ablations.views.style import THEMES


@pytest.fixture(scope="module", params=THEMES)
def theme(request: pytest.FixtureRequest) -> str:
    """The name of a theme."""
    return str(request.param)
