"""One look for every figure: safe for colour-blind readers, in a light and a dark version."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blockproof.ablations.frame import Frame


@dataclass(frozen=True)
class Theme:
    """Colours by role. ``with_part`` and ``without_part`` differ in lightness as well as in hue."""

    ground: str
    ink: str
    faint: str
    with_part: str
    without_part: str
    reference: str


# The hues are those of Okabe and Ito's palette; the grounds are GitHub's.
THEMES = {
    "light": Theme("#ffffff", "#1f2328", "#d8dee4", "#0072B2", "#D55E00", "#59636e"),
    "dark": Theme("#0d1117", "#e6edf3", "#30363d", "#56B4E9", "#E69F00", "#9198a1"),
}
# For the parts of a whole, on both grounds: the rest of that palette, lighter and darker by turns.
PARTS = ("#56B4E9", "#CC79A7", "#0072B2", "#E69F00", "#009E73", "#F0E442", "#D55E00")
MARKERS = ["o", "s"]  # a second sign beside the colour: with the part, without it


@contextmanager
def themed(name: str) -> Iterator[Theme]:
    """Draw in a theme; the settings before are restored."""
    theme = THEMES[name]
    colours = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), theme.ink) | {
        "axes.edgecolor": theme.reference,
        "grid.color": theme.faint,
        "figure.facecolor": theme.ground,
        "axes.facecolor": theme.ground,
        "legend.facecolor": theme.ground,
        "legend.edgecolor": theme.faint,
        "axes.prop_cycle": cycler(color=[theme.with_part, theme.without_part]),
    }
    state = np.random.get_state()
    np.random.seed(0)  # seaborn's jitter draws from the global state; a figure drawn again is the same
    with sns.axes_style("whitegrid", rc=colours), sns.plotting_context("notebook", font_scale=0.9):
        yield theme
    np.random.set_state(state)
    plt.close("all")


def save(draw: Callable[[], Figure], folder: Path, name: str) -> None:
    """Draw in each theme, to PNG files in a folder."""
    for theme in THEMES:
        with themed(theme):
            draw().savefig(folder / f"{name}-{theme}.png", dpi=110)


def current() -> Theme:
    """The theme that is being drawn in; the light one outside of ``themed``."""
    dark = plt.rcParams["figure.facecolor"] == THEMES["dark"].ground
    return THEMES["dark" if dark else "light"]


def palette(names: Sequence[str]) -> dict[str, str]:
    """Colours of the variant with a part and of the one without it."""
    theme = current()
    return dict(zip(names, (theme.with_part, theme.without_part), strict=True))


def parts(names: Sequence[str]) -> dict[str, str]:
    """Colours of the parts of a whole, in order."""
    return dict(zip(names, PARTS, strict=False))


def neutral(names: Sequence[str]) -> dict[str, str]:
    """Colours of two things that are not variants of a model."""
    theme = current()
    return dict(zip(names, (theme.ink, theme.reference), strict=True))


def name_layers(axes: Axes, layers: Frame, depth: int) -> None:
    """Name the layers of a stack below the axis: blocks by their number."""
    names = layers[layers["n_layers"] == depth].drop_duplicates("place")["layer"]
    short = names.replace({"embedding": "emb.", "final norm": "norm"}).str.removeprefix("block ")
    axes.set_xticks(range(len(short)), short.tolist())


def reference_line(axes: Axes, value: float, label: str) -> None:
    """A dashed horizontal line with its meaning written on it."""
    theme = current()
    axes.axhline(value, linestyle="--", linewidth=1.2, color=theme.reference, zorder=1)
    axes.annotate(
        label,
        (0.02, value),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        color=theme.reference,
        fontsize="small",
    )
