"""The swap ablation: frames, table and figure."""

from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from blockproof.ablations import frame
from blockproof.ablations.frame import Frame
from blockproof.ablations.record import Record
from blockproof.ablations.statistics import t_interval
from blockproof.ablations.views import style
from blockproof.ablations.views.compare import at_best_rate, best_rates, describe
from blockproof.model.config import ModelConfig
from blockproof.model.count import count

PARTS = {
    "norm_kind": "norm",
    "position": "positions",
    "attention_n_heads": "heads",
    "feedforward_kind": "feed-forward",
}
USUAL = "as it is"
BY = ["part", "choice"]


def frames(records: Sequence[Record]) -> dict[str, Frame]:
    """The data behind figure and table.

    ``runs``: every run, with the part that is swapped in it and for what. ``gaps``: by seed, how far the
    score lies above that of the model as it is, each at its best learning rate.
    """
    runs = frame.runs(records)
    configs = [ModelConfig.from_dict(record.cell.model) for record in records]
    totals = {config: count(config).total for config in {*configs}}  # once a variant, not once a run
    runs["parameters"] = [totals[config] for config in configs]
    usual = {column: runs[column].mode()[0] for column in PARTS}
    other = [[c for c in PARTS if row[c] != usual[c]] for row in runs.to_dict("records")]
    runs["part"] = [PARTS[columns[0]] if columns else USUAL for columns in other]
    runs["choice"] = [
        str(row[columns[0]]) if columns else USUAL
        for row, columns in zip(runs.to_dict("records"), other, strict=True)
    ]
    return {"runs": runs, "gaps": gaps(runs)}


def gaps(runs: Frame) -> Frame:
    """One row a swap and seed."""
    best = at_best_rate(runs, best_rates(runs, BY))
    base = best[best["part"] == USUAL].set_index("seed")["score"]
    swaps = best[best["part"] != USUAL]
    return swaps[[*BY, "seed"]].assign(gap=swaps["score"] - swaps["seed"].map(base)).reset_index(drop=True)


def table(frames: dict[str, Frame]) -> Frame:
    """One row a swap, the model as it is first: its best rate, score, gap and parameters."""
    runs = frames["runs"]
    rows = describe(runs, BY)
    sizes = runs.groupby(BY)["parameters"].first()
    found = {key: t_interval(group["gap"].tolist()) for key, group in frames["gaps"].groupby(BY)}
    keys = list(rows[BY].itertuples(index=False, name=None))
    rows["parameters"] = [int(sizes[key]) for key in keys]
    for end in ("mean", "low", "high"):
        rows[f"gap_{end}"] = [getattr(found[key], end) if key in found else float("nan") for key in keys]
    order = [USUAL, *PARTS.values()]
    return rows.sort_values(BY, key=_order(order)).reset_index(drop=True)


def _order(parts: list[str]) -> Callable[[pd.Series], pd.Series]:
    """Sorts parts as they stand here, and choices by number where they are numbers."""

    def key(column: pd.Series) -> pd.Series:
        if column.name == "part":
            return column.map(parts.index)
        return column.map(lambda choice: f"{int(choice):05}" if choice.isdigit() else choice)

    return key


def figure(frames: dict[str, Frame]) -> Figure:
    """The gap of each swap: dots are seeds, bars t intervals of their mean."""
    rows = table(frames)
    rows = rows[rows["part"] != USUAL]
    names = [name(part, choice) for part, choice in rows[BY].itertuples(index=False, name=None)]
    gap = frames["gaps"]
    shown = gap.assign(
        swap=[name(part, choice) for part, choice in zip(gap["part"], gap["choice"], strict=True)]
    )
    drawn, axes = plt.subplots(figsize=(9.5, 0.33 * len(names) + 1.2), layout="constrained")
    theme = style.current()
    sns.stripplot(
        shown, x="gap", y="swap", order=names, color=theme.with_part, size=5, alpha=0.7, jitter=0.15, ax=axes
    )
    low, high = rows["gap_low"], rows["gap_high"]
    bars = axes.hlines(range(len(names)), low, high, color=theme.without_part, linewidth=3, alpha=0.8)
    axes.axvline(0, linestyle="--", linewidth=1.2, color=theme.reference, zorder=1)
    axes.set(xlabel="final validation loss above that of the model as it is (nats)", ylabel="swapped for")
    axes.set_title("One part at a time", loc="left")
    axes.legend([axes.collections[0], bars], ["a seed", "interval of the mean"], loc="upper right")
    return drawn


def name(part: str, choice: str) -> str:
    """A swap in words."""
    if part == "heads":
        return f"{choice} head" + ("s" if choice != "1" else "")
    return f"{choice} positions" if part == "positions" else choice
