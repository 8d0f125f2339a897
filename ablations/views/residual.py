"""The residual ablation: frames, table and figure."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blockproof.ablations import frame
from blockproof.ablations.frame import Frame
from blockproof.ablations.record import Record
from blockproof.ablations.views import style
from blockproof.ablations.views.compare import at_best_rate, best_rates, describe

NAMES = {"add": "with residuals", "none": "without"}


def frames(records: Sequence[Record]) -> dict[str, Frame]:
    """The data behind figure and table, each cut to the variant's best learning rate.

    ``runs``: every run. ``curves``: validation losses. ``layers``: what each layer shows at init.
    """
    runs = frame.runs(records)
    best = best_rates(runs, ["n_layers", "residual_kind"])
    layers = at_best_rate(frame.layer_curves(records), best)
    return {
        "runs": runs,
        "curves": at_best_rate(frame.validation_curves(records), best),
        "layers": layers[layers["step"] == 0],
    }


def table(frames: dict[str, Frame]) -> Frame:
    """One row a depth and variant, at its best learning rate."""
    return describe(frames["runs"], ["n_layers", "residual_kind"])


def figure(frames: dict[str, Frame]) -> Figure:
    """Learning curves by depth; gradient and likeness by layer at init in the deeper stack."""
    depths = sorted(frames["runs"]["n_layers"].unique())
    drawn, axes = plt.subplots(2, max(2, len(depths)), figsize=(9.5, 7), layout="constrained")
    for unused in (*axes[0, len(depths) :], *axes[1, 2:]):
        unused.set_axis_off()
    for panel, depth in zip(axes[0], depths, strict=False):
        _lines(panel, frames["curves"], depth, x="step", y="loss")
        style.reference_line(panel, frames["runs"]["blind_loss"].iloc[0], "no context used")
        panel.set_title(f"Training, {depth} layers", loc="left")
        panel.set(xlabel="update", ylabel="validation loss (nats)")
    for panel in axes[0, 1 : len(depths)]:
        panel.sharey(axes[0, 0])
    for panel, column, title, label in (
        (axes[1, 0], "grad_norm", "Gradient at init", "gradient norm"),
        (axes[1, 1], "likeness", "Tokens at init", "mean cosine between tokens"),
    ):
        _lines(panel, frames["layers"], depths[-1], x="place", y=column)
        panel.set_title(f"{title}, {depths[-1]} layers", loc="left")
        panel.set(xlabel="layer", ylabel=label)
        style.name_layers(panel, frames["layers"], depths[-1])
    norms = frames["layers"]["grad_norm"]
    axes[1, 0].set(yscale="log", ylim=(min(1e-2, norms.min() / 2), max(1e2, 2 * norms.max())))
    axes[1, 1].set_ylim(-0.05, 1.05)
    return drawn


def _lines(axes: Axes, rows: Frame, depth: int, *, x: str, y: str) -> None:
    """Means over seeds as lines, their whole range as bands."""
    variants = list(NAMES.values())
    sns.lineplot(
        rows[rows["n_layers"] == depth].assign(variant=rows["residual_kind"].map(NAMES)),
        x=x, y=y, hue="variant", hue_order=variants, palette=style.palette(variants),
        style="variant", style_order=variants, markers=style.MARKERS, dashes=False,
        errorbar=("pi", 100), ax=axes,
    )  # fmt: skip
    axes.legend(title=None)
