"""What the residual ablation says."""

import math

import numpy as np
import pandas as pd

from blockproof.ablations.frame import Frame
from blockproof.ablations.statistics import Interval, t_interval
from blockproof.ablations.views.compare import at_best_rate, best_rates
from blockproof.report.numbers import fixed, interval, quote, whole
from blockproof.report.verdict import FAILS, HOLDS, UNDECIDED, Verdict, judged, positive

VANISHED = 0.1  # the first block's gradient norm over the last block's


def verdicts(frames: dict[str, Frame]) -> list[Verdict]:
    """Whether depth needs residuals, whether the gradient is why, and whether tokens become alike."""
    deep = frames["layers"][frames["layers"]["n_layers"] == frames["layers"]["n_layers"].max()]
    return [_depth(frames["runs"]), _gradient(deep), _likeness(deep)]


def _depth(runs: Frame) -> Verdict:
    shallow, deep = runs["n_layers"].min(), runs["n_layers"].max()
    cost = {depth: _cost(runs[runs["n_layers"] == depth]) for depth in (shallow, deep)}
    alone = {depth: t_interval(each.tolist()) for depth, each in cost.items()}
    extra = t_interval((cost[deep] - cost[shallow]).tolist())
    bare = runs[(runs["n_layers"] == deep) & (runs["residual_kind"] == "none")]
    harder = HOLDS if positive(alone[deep]) == positive(extra) == HOLDS else UNDECIDED
    verdict = FAILS if FAILS in (positive(alone[deep]), positive(extra)) else harder
    return Verdict(
        "C18",
        quote("without residuals, deep stacks are hard to train"),
        judged(verdict, [extra.n]),
        f"Each variant at its best learning rate, taking the residuals out changes the final loss by "
        f"{interval(alone[shallow])} nats at {whole(shallow)} layers and by {interval(alone[deep])} at {whole(deep)}: "
        f"{interval(extra)} more in the deep stack. Of its {whole(len(bare))} runs without residuals, over all "
        f"learning rates, {whole((bare['ended'] != 'finished').sum())} end no better than a model that uses no context.",
    )


def _cost(runs: Frame) -> pd.Series:
    """By seed: the score without residuals minus the score with them, each at its best rate."""
    chosen = at_best_rate(runs, best_rates(runs, ["residual_kind"]))
    wide = chosen.pivot_table(index="seed", columns="residual_kind", values="score")
    return wide["none"] - wide["add"]


def _gradient(deep: Frame) -> Verdict:
    """Reads the gradient at init only: that is where the textbook's argument applies."""
    ratio = {variant: first_to_last(deep[deep["residual_kind"] == variant]) for variant in ("add", "none")}
    vanished = positive(_minus(ratio["none"], math.log(VANISHED)))
    verdict = {HOLDS: FAILS, FAILS: HOLDS}.get(vanished, UNDECIDED)
    return Verdict(
        "C18, reason",
        quote("because the gradient vanishes on its way down"),
        judged(verdict, [each.n for each in ratio.values()]),
        f"At init, in the stack of {whole(deep['n_layers'].iloc[0])} layers, each sub-layer behind its norm, the first "
        f"block's gradient norm over the last block's is {_exp(ratio['none'])} without residuals and "
        f"{_exp(ratio['add'])} with them.",
    )


def _likeness(deep: Frame) -> Verdict:
    """Dong et al. 2021: without residuals, attention makes all tokens the same."""
    last = deep[deep["layer"] == f"block {deep['n_layers'].iloc[0] - 1}"]
    alike = {
        variant: t_interval(rows["likeness"].tolist()) for variant, rows in last.groupby("residual_kind")
    }
    wide = last.pivot_table(index="seed", columns="residual_kind", values="likeness")
    return Verdict(
        "C18, instead",
        quote("without residuals, tokens become alike with depth"),
        judged(
            positive(t_interval((wide["none"] - wide["add"]).tolist())), [each.n for each in alike.values()]
        ),
        f"At init the mean cosine between the tokens of a sequence, after the last block, is "
        f"{interval(alike['none'], 3)} without residuals and {interval(alike['add'], 3)} with them; where all tokens are "
        f"equal, queries and keys get no gradient.",
    )


def first_to_last(layers: Frame) -> Interval:
    """Log of the first block's gradient norm over the last block's, over seeds."""
    last = f"block {layers['n_layers'].iloc[0] - 1}"
    wide = layers.pivot_table(index="seed", columns="layer", values="grad_norm")
    return t_interval(np.log(wide["block 0"] / wide[last]).tolist())


def _minus(value: Interval, shift: float) -> Interval:
    return Interval(value.mean - shift, value.low - shift, value.high - shift, value.n)


def _exp(log: Interval) -> str:
    mean, low, high = (fixed(float(np.exp(value))) for value in (log.mean, log.low, log.high))
    return f"{mean} [{low}, {high}]"
