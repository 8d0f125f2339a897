"""What stands in a figure: read back from its artists."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from blockproof.ablations.frame import Frame
from blockproof.ablations.study import Results
from blockproof.ablations.views import style
from blockproof.tests.unit.ablations import fabricated


class Drawn(NamedTuple):
    """A figure with the frames that it shows."""

    theme: str
    frames: dict[str, Frame]
    figure: Figure

    @property
    def panels(self) -> list[Axes]:
        return self.figure.axes


@contextmanager
def draw(name: str, theme: str) -> Iterator[Drawn]:
    """The figure of an ablation's fabricated records."""
    study = Results(name, fabricated.records(name))
    with mpl.rc_context({"backend": "agg"}), style.themed(theme):
        yield Drawn(theme, study.frames, study.view.figure(study.frames))


def curves(axes: Axes) -> list[tuple[Any, Any]]:
    """The lines that hold data; not those that only stand in a legend, nor reference lines."""
    data = [np.asarray(line.get_data(), float) for line in axes.lines if not dashed(line)]
    return [(x.tolist(), y.tolist()) for x, y in data if len(x) > 1]


def references(axes: Axes) -> list[float]:
    """The heights of the dashed lines."""
    return sorted(float(np.asarray(line.get_ydata())[0]) for line in axes.lines if dashed(line))


def dashed(line: Line2D) -> bool:
    """Whether it is a reference line."""
    return line.get_linestyle() == "--"


def dots(axes: Axes) -> np.ndarray:
    """The places (n, 2) of all dots."""
    scattered = [each for each in axes.collections if isinstance(each, PathCollection)]
    return np.concatenate([np.asarray(each.get_offsets()) for each in scattered])


def legend(axes: Axes) -> list[str]:
    """The names in the legend."""
    found = axes.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]
