"""Training to the end: frames, table and figure."""

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
from blockproof.model.config import ModelConfig
from blockproof.model.count import cost, count

KINDS = ("batch, with dropout", "validation")
SIZE = ["n_layers", "d_model"]


def frames(records: Sequence[Record]) -> dict[str, Frame]:
    """The data behind figure and table.

    ``toy``: its runs. ``curves``: their validation losses. ``samples``: what they write in the end.
    ``speed``: one row a run of each size, with its time of a token beside the operations of one, both
    relative to the smallest model's of that seed.
    """
    toy = frame.select(records, run="sampled")
    samples = [{"seed": record.cell.seed, "sample": record.result["sample"]} for record in toy]
    return {
        "toy": frame.runs(toy),
        "curves": _curves(toy),
        "samples": pd.DataFrame(samples),
        "speed": _speed(frame.select(records, run="train")),
    }


def _curves(toy: Sequence[Record]) -> Frame:
    """One row a seed, update and kind of loss."""
    kinds = (frame.training_curves(toy), frame.validation_curves(toy))
    named = [
        rows[["seed", "step", "loss"]].assign(kind=kind) for rows, kind in zip(kinds, KINDS, strict=True)
    ]
    return pd.concat(named, ignore_index=True)


def _speed(records: Sequence[Record]) -> Frame:
    """Of one token in training: operations of matrix products, and seconds, validation included."""
    configs = [ModelConfig.from_dict(record.cell.model) for record in records]
    operations = {config: cost(count(config)).training for config in {*configs}}
    rows = pd.DataFrame(
        [
            {
                **frame.variables(record),
                "operations": operations[config],
                "seconds": record.observed["seconds"] / record.result["tokens"],
            }
            for record, config in zip(records, configs, strict=True)
        ]
    )
    rows = rows.sort_values([*SIZE, "seed"])
    for name in ("operations", "seconds"):
        rows[f"{name}_ratio"] = rows[name] / rows.groupby("seed")[name].transform("first")
    return rows[[*SIZE, "seed", "operations", "seconds", "operations_ratio", "seconds_ratio"]]


def table(frames: dict[str, Frame]) -> Frame:
    """One row a size: operations and microseconds of a token, and both relative to the smallest's."""
    rows = []
    for size, group in frames["speed"].groupby(SIZE):
        ratio = t_interval(group["seconds_ratio"].tolist())
        rows.append(
            {
                **dict(zip(SIZE, size, strict=True)),
                "operations": group["operations"].iloc[0],
                "microseconds": 1e6 * group["seconds"].median(),
                "operations_ratio": group["operations_ratio"].iloc[0],
                "seconds_ratio": ratio.mean,
                "low": ratio.low,
                "high": ratio.high,
                "seeds": ratio.n,
            }
        )
    return pd.DataFrame(rows)


def figure(frames: dict[str, Frame]) -> Figure:
    """The toy's learning curves; time against operations."""
    drawn, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.9), layout="constrained")
    sns.lineplot(
        frames["curves"], x="step", y="loss", hue="kind", hue_order=KINDS[::-1], units="seed", estimator=None,
        palette=style.palette(KINDS[::-1]), linewidth=1.2, alpha=0.8, ax=left,
    )  # fmt: skip
    left.legend(title=None)
    style.reference_line(left, frames["toy"]["blind_loss"].iloc[0], "no context used")
    left.set(xlabel="update", ylabel="loss (nats)")
    left.set_title("The toy GPT learns its corpus", loc="left")
    _against(right, frames["speed"])
    return drawn


def _against(axes: Axes, speed: Frame) -> None:
    theme = style.current()
    names = {depth: f"{depth} layers" for depth in sorted(speed["n_layers"].unique())}
    sns.scatterplot(
        speed.assign(depth=speed["n_layers"].map(names)), x="operations_ratio", y="seconds_ratio",
        hue="depth", style="depth", palette=style.palette(list(names.values())), ax=axes,
    )  # fmt: skip
    most = speed["operations_ratio"].max()
    axes.plot([1, most], [1, most], linestyle="--", linewidth=1.2, color=theme.reference, zorder=1)
    axes.set(
        xscale="log", yscale="log", xlabel="operations of a token (relative)", ylabel="its time (relative)"
    )
    axes.set_title("What theory says, and the clock", loc="left")
    axes.legend(title=None)
