"""The norm placement ablation: frames, table and figure."""

from collections.abc import Sequence
from math import inf, nan

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blockproof.ablations import frame
from blockproof.ablations.frame import Frame
from blockproof.ablations.record import Record
from blockproof.ablations.statistics import Interval, t_interval
from blockproof.ablations.views import style
from blockproof.ablations.views.compare import at_best_rate, best_rates, describe, geometric_spread

NAMES = {"pre": "pre-norm", "post": "post-norm"}
SETTING = ["tied", "warmup"]  # what a panel of the figure holds fixed
BY = ["norm_placement", *SETTING]


def frames(records: Sequence[Record]) -> dict[str, Frame]:
    """The data behind figure and table.

    ``runs``: every run. ``early``: each run's first validation after init. ``gradients``: global
    gradient norms at each variant's best learning rate.
    """
    runs = frame.runs(records)
    curves = frame.validation_curves(records)
    later = curves[curves["step"] > 0]
    return {
        "runs": runs,
        "early": later[later["step"] == later["step"].min()],
        "gradients": at_best_rate(frame.training_curves(records), best_rates(runs, BY)),
    }


def table(frames: dict[str, Frame]) -> Frame:
    """One row a placement and setting, at its best rate, with its sensitivity to the rate.

    ``breaks_at``: see ``breaking_rate``. ``sensitivity``: mean over rates of
    min(score, loss at init) above the best, where every rate was run (Wortsman et al. 2023).
    ``early``: loss at the first validation. ``fluctuation``: the factor by which the gradient norm
    typically varies in a run.
    """
    rows = describe(frames["runs"], BY)
    extra = [_extra(frames, *variant) for variant in rows[BY].itertuples(index=False)]
    return pd.concat([rows, pd.DataFrame(extra)], axis=1)


def sensitivity(runs: Frame) -> pd.Series:
    """By seed: the mean over learning rates of how far the score lies above the best rate's."""
    capped = runs.assign(score=runs[["score", "loss_at_init"]].min(axis=1))
    wide = capped.pivot_table(index="seed", columns="lr", values="score")
    return wide.sub(wide.min(axis=1), axis=0).mean(axis=1)


def breaking_rate(runs: Frame) -> float:
    """The lowest learning rate above the best at which at least half of the runs collapse; or infinity.

    Rates at which half collapse cannot be the best; if all are such, the lowest one is given. Below
    the best rate a run may end high because it has not learnt yet: that is no collapse.
    """
    lost = (runs["ended"] != "finished").groupby(runs["lr"]).mean() >= 0.5
    if lost.all():
        return float(lost.index.min())
    score = runs.groupby("lr")["score"].mean()
    above = lost[lost.index > score[~lost].idxmin()]
    return float(above.index[above].min()) if above.any() else inf


def settings(runs: Frame) -> list[tuple[bool, int]]:
    """Every pair of tied and warm-up that was run: the tied ones first, then by warm-up."""
    pairs = runs[SETTING].drop_duplicates().itertuples(index=False)
    return sorted((tuple(pair) for pair in pairs), key=lambda pair: (not pair[0], pair[1]))


def at_setting(rows: Frame, tied: bool, warmup: int) -> Frame:
    """The rows of one setting."""
    return rows[(rows["tied"] == tied) & (rows["warmup"] == warmup)]


def _extra(frames: dict[str, Frame], placement: str, tied: bool, warmup: int) -> dict[str, float]:
    def of(rows: Frame) -> Frame:
        return at_setting(rows[rows["norm_placement"] == placement], tied, warmup)

    runs, gradients = of(frames["runs"]), of(frames["gradients"])
    early = of(frames["early"]).merge(gradients[["lr"]].drop_duplicates(), on="lr")
    at_every_rate = runs["lr"].nunique() == frames["runs"]["lr"].nunique()
    spread = t_interval(sensitivity(runs).tolist()) if at_every_rate else Interval(nan, nan, nan, 0)
    return {
        "breaks_at": breaking_rate(runs),
        "early": early["loss"].mean(),
        "fluctuation": gradients.groupby("seed")["grad_norm"].apply(geometric_spread).mean(),
        "sensitivity": spread.mean,
        "sensitivity_low": spread.low,
        "sensitivity_high": spread.high,
    }


def figure(frames: dict[str, Frame]) -> Figure:
    """Final loss over the learning rate, a panel for each setting; dots are seeds, lines their means."""
    runs = frames["runs"]
    panels = settings(runs)
    drawn, axes = plt.subplots(
        1, len(panels), figsize=(9.5, 3.9), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for panel, (tied, warmup) in zip(axes[0], panels, strict=True):
        _panel(panel, at_setting(runs, tied, warmup))
        panel.set_title(title(tied, warmup), loc="left")
    return drawn


def title(tied: bool, warmup: int | str) -> str:
    """A setting in words; the warm-up may come as text that is already formatted."""
    start = f"warm-up of {warmup} updates" if warmup else "no warm-up"
    return f"{start}, {'tied' if tied else 'untied'} head"


def _panel(axes: Axes, runs: Frame) -> None:
    variants = list(NAMES.values())
    look = {
        "x": "lr", "y": "score", "hue": "variant", "hue_order": variants, "palette": style.palette(variants),
        "style": "variant", "style_order": variants, "markers": style.MARKERS, "ax": axes,
    }  # fmt: skip
    shown = runs.assign(variant=runs["norm_placement"].map(NAMES))
    sns.lineplot(shown, **look, dashes=False, markersize=7, errorbar=("pi", 100))
    sns.scatterplot(shown, **look, s=14, alpha=0.6, legend=False)
    style.reference_line(axes, runs["blind_loss"].iloc[0], "collapsed: no context used")
    axes.set(xscale="log", xlabel="learning rate", ylabel="final validation loss (nats)")
    axes.legend(title=None, fontsize="small", framealpha=0.6)
