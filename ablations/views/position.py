"""The position ablation: frames, table and figure."""

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

NAMES = {"learned": "learned positions", "none": "none"}
BY = ["source", "asked", "n_layers", "position"]


def frames(records: Sequence[Record]) -> dict[str, Frame]:
    """The data behind figure and table.

    ``text``, ``order``: every run on real text and on the order task. ``permutation``: how far the
    last logits of an untrained model move when earlier tokens change places.
    """
    return {
        "text": frame.runs(frame.select(records, source="text")),
        "order": frame.runs(frame.select(records, source="order")),
        "permutation": frame.permutations(frame.select(records, run="permutation")),
    }


def table(frames: dict[str, Frame]) -> Frame:
    """One row a task, depth and variant: mean final loss with its interval, floor and blind loss."""
    runs = pd.concat([frames["text"].assign(asked=0), frames["order"]])
    rows = []
    for values, group in runs.groupby(BY, sort=False):
        score = t_interval(group["score"].tolist())
        rows.append(
            {
                **dict(zip(BY, values, strict=True)),
                "loss": score.mean,
                "low": score.low,
                "high": score.high,
                "seeds": score.n,
                "floor": group["floor"].iloc[0],
                "blind": group["blind_loss"].iloc[0],
            }
        )
    return pd.DataFrame(rows)


def figure(frames: dict[str, Frame]) -> Figure:
    """Text; the order task for each question; permuted tokens. Dots are seeds."""
    questions = sorted(frames["order"]["asked"].unique())
    rows = (len(questions) + 3) // 2
    drawn, axes = plt.subplots(rows, 2, figsize=(9.5, 3.5 * rows), layout="constrained")
    first, *middle, last = axes.flat[: len(questions) + 2]
    for unused in axes.flat[len(questions) + 2 :]:
        unused.set_axis_off()
    _dots(first, frames["text"])
    first.set_title("Real text", loc="left")
    for panel, asked in zip(middle, questions, strict=True):
        runs = frames["order"][frames["order"]["asked"] == asked]
        _dots(panel, runs)
        style.reference_line(panel, runs["blind_loss"].iloc[0], "order unknown")
        style.reference_line(panel, runs["floor"].iloc[0], "order known")
        title = "which came first?" if asked == 1 else f"which stood at place k of {asked}?"
        panel.set_title(f"Order task: {title}", loc="left")
    _permutation(last, frames["permutation"])
    return drawn


def _dots(axes: Axes, runs: Frame) -> None:
    variants = list(NAMES.values())
    sns.stripplot(
        runs.assign(variant=runs["position"].map(NAMES)),
        x="n_layers", y="score", hue="variant", hue_order=variants, palette=style.palette(variants),
        dodge=True, jitter=0.2, size=6, alpha=0.8, ax=axes,
    )  # fmt: skip
    axes.set(xlabel="layers", ylabel="final validation loss (nats)")
    axes.legend(title=None)


def _permutation(axes: Axes, moved: Frame) -> None:
    """How far the last logits move without positions; an exact 0 is drawn at the lower edge."""
    lowest, pairs = 1e-17, {"clean": "A B C D → B C A D", "confounded": "A B C D → D C B A"}
    shown = moved[moved["position"] == "none"]
    sns.stripplot(
        shown.assign(pair=shown["pair"].map(pairs), moved=shown["moved"].clip(lower=lowest)),
        x="n_layers", y="moved", hue="pair", palette=style.neutral(list(pairs.values())),
        dodge=True, jitter=0.2, size=6, alpha=0.8, ax=axes,
    )  # fmt: skip
    axes.set(yscale="log", ylim=(lowest, 1e3), xlabel="layers", ylabel="largest change of the last logits")
    axes.set_title("No positions, random weights", loc="left")
    axes.legend(title=None, loc="center right")
