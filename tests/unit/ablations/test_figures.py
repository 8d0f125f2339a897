"""Figures can be read in both themes, and tell variants by the same colours everywhere."""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.views import gallery, norm_placement, position, residual, style
from blockproof.tests.unit.ablations.drawing import Drawn, draw, legend

SMALLEST = 7.0  # points: what can still be read
VIEWS = (residual, norm_placement, position, gallery)


@pytest.fixture(scope="module", params=ABLATIONS)
def drawn(request: pytest.FixtureRequest, theme: str) -> Iterator[Drawn]:
    """Every figure in both themes."""
    with draw(request.param, theme) as figure:
        yield figure


def ground(part: Axes) -> tuple[float, float, float]:
    return to_rgb(part.get_facecolor())


def contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """The ratio of relative luminances that the Web Content Accessibility Guidelines define."""

    def luminance(colour: tuple[float, float, float]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_every_panel_says_what_it_shows(drawn: Drawn) -> None:
    """Small multiples share their legend and the names of their axes."""
    for axes in drawn.panels:
        assert axes.get_title(loc="left")
        assert axes.get_ylabel() or drawn.figure.get_supylabel()
        assert drawn.figure.legends or len(legend(axes)) == 2


def test_every_text_can_be_read(drawn: Drawn) -> None:
    """In size, and with the contrast of 4.5 that the guidelines ask for."""
    drawn.figure.canvas.draw()
    found = [text for text in drawn.figure.findobj(Text) if isinstance(text, Text)]
    texts = [text for text in found if text.get_text() and text.get_visible()]
    assert min(float(text.get_fontsize()) for text in texts) >= SMALLEST
    behind = to_rgb(style.THEMES[drawn.theme].ground)
    assert min(contrast(to_rgb(text.get_color()), behind) for text in texts) >= 4.5


def test_the_ground_is_the_themes(drawn: Drawn) -> None:
    wanted = to_rgb(style.THEMES[drawn.theme].ground)
    assert {to_rgb(drawn.figure.get_facecolor()), *map(ground, drawn.panels)} == {wanted}


def test_variants_have_the_same_colours_in_every_figure(theme: str) -> None:
    colours = style.THEMES[theme]
    with style.themed(theme):
        palettes = [list(style.palette(list(view.NAMES.values())).values()) for view in VIEWS]
    assert palettes == [[colours.with_part, colours.without_part]] * len(VIEWS)


def test_themes_leave_no_trace() -> None:
    before = dict(plt.rcParams)
    with style.themed("dark"):
        plt.figure()
        assert style.current() is style.THEMES["dark"]
    assert dict(plt.rcParams) == before
    assert style.current() is style.THEMES["light"]
    assert plt.get_fignums() == [], "a figure was left open"
