"""The gallery of faults: frames, table and figure."""

from collections.abc import Sequence
from math import log, nan
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blockproof.ablations import frame
from blockproof.ablations.cell import HEALTHY
from blockproof.ablations.frame import Frame
from blockproof.ablations.record import Record
from blockproof.ablations.statistics import Interval, paired_interval, t_interval
from blockproof.ablations.views import style

NAMES = {False: "sound code", True: "with the fault"}
GOOD, ALIKE, BAD, UNCLEAR = "too good", "alike", "too bad", "unclear"  # beside the sound run
MARGIN = 0.05  # nats; losses that are closer are taken for one another
FACTOR = 1.5  # gradient norms that are closer are too
BOUNDS = {"loss": MARGIN, "grad_norm": log(FACTOR)}
COLUMNS, HIGHEST = 5, 5.0  # of the figure: panels in a row, and nats


def frames(records: Sequence[Record]) -> dict[str, Frame]:
    """The data behind figure and table.

    ``runs``: every run; ``score`` is what the code reports at the end, ``honest`` what the model is worth, or
    its loss at init if it diverged. ``curves``, ``updates``: reported losses on held-out data and on batches.
    """
    runs = frame.runs(records)
    honest = pd.Series([record.result["honest_loss"] for record in records], dtype=float)
    runs["honest"] = honest.fillna(runs["loss_at_init"].astype(float))
    return {
        "runs": runs,
        "curves": frame.validation_curves(records),
        "updates": frame.training_curves(records),
    }


def table(frames: dict[str, Frame]) -> Frame:
    """One row a fault, sound code first: both losses, how far they lie above the sound ones, and the signs.

    ``shows``: the reported loss beside the sound one. ``lost``: runs that end no better than without context.
    ``loss_from``, ``gradient_from``: the first logged update whose batch loss or gradient norm differs.
    """
    runs, apart = frames["runs"], {column: by_update(frames["updates"], column) for column in BOUNDS}
    sound = runs[runs["fault"] == HEALTHY].set_index("seed")
    rows = []
    for fault, group in runs.groupby("fault", sort=False):
        told = group.set_index("seed").reindex(sound.index)
        gaps = {
            name: Interval(nan, nan, nan, 0) if fault == HEALTHY else _paired(told[name], sound[name])
            for name in ("score", "honest")
        }
        rows.append(
            {
                "fault": fault,
                **_ends("loss", t_interval(told["score"].tolist())),
                **_ends("honest", t_interval(told["honest"].tolist())),
                **_ends("gap", gaps["score"]),
                **_ends("honest_gap", gaps["honest"]),
                "shows": "" if fault == HEALTHY else side(gaps["score"]),
                "lost": int((group["ended"] != "finished").sum()),
                "seeds": len(group),
                "loss_from": first_apart(apart["loss"], str(fault), BOUNDS["loss"]),
                "gradient_from": first_apart(apart["grad_norm"], str(fault), BOUNDS["grad_norm"]),
            }
        )
    return pd.DataFrame(rows)


def side(gap: Interval) -> str:
    """Where a loss lies beside the sound one, by the interval of their difference."""
    if gap.high < -MARGIN:
        return GOOD
    if gap.low > MARGIN:
        return BAD
    return ALIKE if gap.low > -MARGIN and gap.high < MARGIN else UNCLEAR


def by_update(updates: Frame, column: str) -> Frame:
    """Batch losses, or logarithms of gradient norms: a row a logged update, a column a fault and seed."""
    wide = updates.pivot_table(index="step", columns=["fault", "seed"], values=column).dropna()
    return wide if column == "loss" else wide.map(log)


def first_apart(wide: Frame, fault: str, bound: float) -> float:
    """The first logged update at which a fault's values clearly are others; NaN if none is."""
    for step, row in wide.iterrows():
        gap = _paired(row[fault], row[HEALTHY])
        if gap.low > bound or gap.high < -bound:
            return float(str(step))
    return nan


def _paired(one: pd.Series, other: pd.Series) -> Interval:
    return paired_interval(one.tolist(), other.tolist())


def _ends(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}


def figure(frames: dict[str, Frame]) -> Figure:
    """A panel a fault: lines are reported losses on held-out data, the diamond is the honest one at the end."""
    faults = [fault for fault in frames["runs"]["fault"].unique() if fault != HEALTHY]
    lines = -(-len(faults) // COLUMNS)
    drawn, axes = plt.subplots(
        lines, COLUMNS, figsize=(9.5, 2.3 * lines + 0.8), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for panel, fault in zip(axes.flat, faults, strict=False):
        _panel(panel, frames, fault)
    signs = axes.flat[0].get_legend_handles_labels()
    for unused in axes.flat[len(faults) :]:
        unused.remove()
    drawn.legend(*signs, loc="outside upper center", ncols=4, fontsize="small")
    drawn.supxlabel("update", fontsize="medium")
    drawn.supylabel("validation loss (nats)", fontsize="medium")
    return drawn


def _panel(axes: Axes, frames: dict[str, Frame], fault: str) -> None:
    curves, runs = (frames[name][frames[name]["fault"].isin([HEALTHY, fault])] for name in ("curves", "runs"))
    variants = list(NAMES.values())
    colours, theme = style.palette(variants), style.current()
    sns.lineplot(
        curves.assign(variant=(curves["fault"] == fault).map(NAMES)),
        x="step", y="loss", hue="variant", hue_order=variants, palette=colours,
        style="variant", style_order=variants, markers=style.MARKERS, markersize=5, dashes=False,
        errorbar=("pi", 100), ax=axes,
    )  # fmt: skip
    blind = runs["blind_loss"].iloc[0]
    axes.axhline(
        blind, linestyle="--", linewidth=1.2, color=theme.reference, zorder=1, label="no context used"
    )
    honest = runs.loc[runs["fault"] == fault, "honest"].mean()
    _honest(axes, curves["step"].max(), honest, colours[variants[1]])
    axes.set_title(fault, loc="left", fontsize="small")
    axes.set(ylim=(0, HIGHEST), xlabel="", ylabel="")
    if (own := axes.get_legend()) is not None:
        own.remove()  # the figure has one for all


def _honest(axes: Axes, step: float, loss: float, colour: str) -> None:
    """A diamond with its number; a loss that is too high for the panel is an arrow at its edge."""
    fits, ink = loss < HIGHEST, style.current().ink
    sign: dict[str, Any] = {"linestyle": "none", "markersize": 8, "color": colour, "markeredgecolor": ink}
    axes.plot([], [], marker="D", label="honest loss with the fault", **sign)
    height = min(loss, HIGHEST)
    axes.plot([step], [height], marker="D" if fits else "^", clip_on=False, zorder=5, **sign)
    axes.annotate(
        f"{loss:.2f}", (step, height), xytext=(-7, 6 if fits else -7), textcoords="offset points", ha="right",
        fontsize="small", color=ink,
    )  # fmt: skip
