"""What the residual ablation says."""

import numpy as np

from blockproof.ablations.frame import Frame
from blockproof.ablations.statistics import Interval, t_interval
from blockproof.ablations.views.compare import at_best_rate, best_rates, difference
from blockproof.report.numbers import fixed, interval, quote, whole
from blockproof.report.verdict import FAILS, HOLDS, Verdict, judged


def verdicts(frames: dict[str, Frame]) -> list[Verdict]:
    """Whether depth needs residuals, and whether the gradient is why."""
    return [_depth(frames["runs"]), _gradient(frames["layers"])]


def _depth(runs: Frame) -> Verdict:
    shallow, deep = sorted(runs["n_layers"].unique())
    at_best = at_best_rate(runs, best_rates(runs, ["n_layers", "residual"]))
    cost = {
        d: difference(at_best[at_best["n_layers"] == d], "residual", "none", "add") for d in (shallow, deep)
    }
    bare = runs[(runs["n_layers"] == deep) & (runs["residual"] == "none")]
    collapsed = (bare["ended"] != "finished").sum()
    harder = cost[deep].excludes_zero and cost[deep].low > cost[shallow].high
    return Verdict(
        "C18",
        quote("without residuals, deep stacks are hard to train"),
        judged(HOLDS if harder else FAILS, [cost[shallow].n, cost[deep].n]),
        f"Taking the residuals out costs {interval(cost[shallow])} nats at {whole(shallow)} layers and "
        f"{interval(cost[deep])} at {whole(deep)}, each variant at its best learning rate. Of the "
        f"{whole(len(bare))} runs of the deep stack without residuals, over all learning rates, "
        f"{whole(collapsed)} end no better than a model that uses no context.",
    )


def _gradient(layers: Frame) -> Verdict:
    depth = layers["n_layers"].max()
    bare = layers[(layers["n_layers"] == depth) & (layers["residual"] == "none")]
    ratio = first_to_last(bare)
    vanishes = ratio.high < np.log(0.1)
    low, high = (fixed(float(np.exp(end))) for end in (ratio.low, ratio.high))
    alike = {
        kind: rows.loc[rows["layer"] == f"block {depth - 1}", "likeness"].mean()
        for kind, rows in layers[layers["n_layers"] == depth].groupby("residual")
    }
    return Verdict(
        "C18, reason",
        quote("because the gradient vanishes on its way down"),
        judged(HOLDS if vanishes else FAILS, [ratio.n]),
        f"At init, without residuals, the first block's gradient norm is {fixed(float(np.exp(ratio.mean)))} "
        f"[{low}, {high}] times the last block's: the norm in front of every sub-layer restores its scale. "
        f"What is lost is the difference between tokens: their mean cosine after the last block is "
        f"{fixed(alike['none'], 3)} without residuals and {fixed(alike['add'], 3)} with them.",
    )


def first_to_last(layers: Frame) -> Interval:
    """Log of the first block's gradient norm over the last block's, over seeds."""
    last = f"block {layers['n_layers'].max() - 1}"
    wide = layers.pivot_table(index="seed", columns="layer", values="grad_norm")
    return t_interval(np.log(wide["block 0"] / wide[last]).tolist())
