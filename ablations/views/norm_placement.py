"""The norm placement ablation: frames, table and figure."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blockproof.ablations import frame
from blockproof.ablations.frame import Frame
from blockproof.ablations.record import Record
from blockproof.ablations.statistics import t_interval
from blockproof.ablations.views import style
from blockproof.ablations.views.compare import at_best_rate, best_rates, describe, geometric_spread

NAMES = {"pre": "pre-norm", "post": "post-norm"}
BY = ["placement", "warmup"]


def frames(records: Sequence[Record]) -> dict[str, Frame]:
    """The data behind figure and table.

    ``runs``: every run. ``early``: each run's first validation after init. ``gradients``: global
    gradient norms at each variant's best learning rate.
    """
    runs = frame.runs(records)
    curves = frame.validation_curves(records)
    later = curves[curves["step"] > 0]
    best = best_rates(runs, BY)
    return {
        "runs": runs,
        "early": later[later["step"] == later["step"].min()],
        "gradients": at_best_rate(frame.training_curves(records), best),
    }


def table(frames: dict[str, Frame]) -> Frame:
    """One row a placement and warm-up, at its best rate, with its sensitivity to the rate.

    ``trains_to``: the highest rate up to which no run collapsed. ``sensitivity``: mean over rates of
    min(score, loss at init) above the best (Wortsman et al. 2023). ``early``: loss at the first
    validation. ``fluctuation``: the factor by which the gradient norm typically varies in a run.
    """
    rows = describe(frames["runs"], BY)
    extra = [_extra(frames, *variant) for variant in rows[BY].itertuples(index=False)]
    return pd.concat([rows, pd.DataFrame(extra)], axis=1)


def sensitivity(runs: Frame) -> pd.Series:
    """By seed: the mean over learning rates of how far the score lies above the best rate's."""
    capped = runs.assign(score=runs[["score", "loss_at_init"]].min(axis=1))
    wide = capped.pivot_table(index="seed", columns="lr", values="score")
    return wide.sub(wide.min(axis=1), axis=0).mean(axis=1)


def collapse_by_rate(runs: Frame) -> pd.Series:
    """By learning rate: the share of runs that collapsed or diverged."""
    return (runs["ended"] != "finished").groupby(runs["lr"]).mean()


def _extra(frames: dict[str, Frame], placement: str, warmup: int) -> dict[str, float | None]:
    def of(rows: Frame) -> Frame:
        return rows[(rows["placement"] == placement) & (rows["warmup"] == warmup)]

    runs, gradients = of(frames["runs"]), of(frames["gradients"])
    spoilt = collapse_by_rate(runs)
    trained = spoilt[spoilt.cumsum() == 0]
    early = of(frames["early"]).merge(gradients[["lr"]].drop_duplicates(), on="lr")
    spread = t_interval(sensitivity(runs).tolist())
    return {
        "trains_to": float(trained.index.max()) if len(trained) else None,
        "early": early["loss"].mean(),
        "fluctuation": gradients.groupby("seed")["grad_norm"].apply(geometric_spread).mean(),
        "sensitivity": spread.mean,
        "sensitivity_low": spread.low,
        "sensitivity_high": spread.high,
    }


def figure(frames: dict[str, Frame]) -> Figure:
    """Final loss over the learning rate, a panel for each warm-up; dots are seeds, lines their means."""
    warmups = sorted(frames["runs"]["warmup"].unique())
    drawn, axes = plt.subplots(1, len(warmups), figsize=(9.5, 4), sharey=True, layout="constrained")
    for panel, warmup in zip(axes, warmups, strict=True):
        _panel(panel, frames["runs"][frames["runs"]["warmup"] == warmup])
        panel.set_title(f"warm-up of {warmup} updates" if warmup else "no warm-up", loc="left")
    return drawn


def _panel(axes: Axes, runs: Frame) -> None:
    variants = list(NAMES.values())
    named = runs.assign(variant=runs["placement"].map(NAMES))
    sns.lineplot(
        named, x="lr", y="score", hue="variant", hue_order=variants, palette=style.palette(variants),
        style="variant", style_order=variants, markers=style.MARKERS, dashes=False, markersize=7,
        errorbar=("pi", 100), ax=axes,
    )  # fmt: skip
    sns.scatterplot(
        named, x="lr", y="score", hue="variant", hue_order=variants, palette=style.palette(variants),
        style="variant", style_order=variants, markers=style.MARKERS, s=14, alpha=0.6, legend=False, ax=axes,
    )  # fmt: skip
    style.reference_line(axes, runs["blind_loss"].iloc[0], "collapsed: no context used")
    axes.set(xscale="log", xlabel="learning rate", ylabel="final validation loss (nats)")
    axes.legend(title=None, loc="lower right")
