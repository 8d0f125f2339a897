"""What several ablations need: the best learning rate of each variant, and one row of numbers for it."""

import math
from collections.abc import Sequence

import pandas as pd

from blockproof.ablations.frame import Frame
from blockproof.ablations.statistics import Interval, paired_interval, t_interval


def best_rates(runs: Frame, variant: list[str], tuned: Sequence[str] = ("lr",)) -> Frame:
    """The tuned values with the lowest mean score over seeds, one row a variant."""
    means = runs.groupby([*variant, *tuned], as_index=False)["score"].mean()
    best = means.loc[means.groupby(variant)["score"].idxmin()]
    return best[[*variant, *tuned]].reset_index(drop=True)


def at_best_rate(rows: Frame, best: Frame) -> Frame:
    """The rows of each variant at its best tuned values."""
    return rows.merge(best, on=list(best.columns))


def describe(runs: Frame, variant: list[str]) -> Frame:
    """One row a variant at its best rate: mean score with its interval, and how many runs collapsed.

    ``edge``: -1 or 1 if that rate is the lowest or the highest that was run, so that the true best may
    lie beyond; else 0.
    """
    rates = runs.groupby(variant)["lr"]
    chosen = at_best_rate(runs, best_rates(runs, variant))
    rows = []
    for values, group in chosen.groupby(variant, sort=False):
        score, lr = t_interval(group["score"].tolist()), group["lr"].iloc[0]
        tried = rates.get_group(values)
        rows.append(
            {
                **dict(zip(variant, values if isinstance(values, tuple) else (values,), strict=True)),
                "lr": lr,
                "edge": int(lr == tried.max()) - int(lr == tried.min()),
                "loss": score.mean,
                "low": score.low,
                "high": score.high,
                "seeds": score.n,
                "collapsed": int((group["ended"] != "finished").sum()),
            }
        )
    return pd.DataFrame(rows).sort_values(variant).reset_index(drop=True)


def difference(runs: Frame, column: str, one: object, other: object, value: str = "score") -> Interval:
    """The paired interval over seeds of ``one - other`` in a column of variants."""
    wide = runs.pivot_table(index="seed", columns=column, values=value)
    return paired_interval(wide[one].tolist(), wide[other].tolist())


def geometric_spread(values: pd.Series) -> float:
    """By what factor positive values typically vary: exp of the standard deviation of their logs."""
    return float(math.exp(values.map(math.log).std()))
