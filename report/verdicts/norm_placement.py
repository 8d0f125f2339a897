"""What the norm placement ablation says."""

from math import isfinite

from blockproof.ablations.frame import Frame
from blockproof.ablations.statistics import Interval, paired_interval
from blockproof.ablations.views.compare import at_best_rate, best_rates, difference
from blockproof.ablations.views.norm_placement import (
    NAMES,
    at_setting,
    breaking_rate,
    sensitivity,
    settings,
    title,
)
from blockproof.report.numbers import interval, quote, rate, whole
from blockproof.report.verdict import FAILS, HOLDS, Verdict, judged

CLAIMED_RATE = 3e-4


def verdicts(frames: dict[str, Frame]) -> list[Verdict]:
    """Whether warm-up is what post-norm needs, where each placement breaks, and which does better."""
    runs = frames["runs"]
    return [_warmup(runs[runs["tied"]]), _breaking(runs), _fairly(runs)]


def _warmup(runs: Frame) -> Verdict:
    """The claim at its own learning rate: the nearest in the grid."""
    lr = min(runs["lr"].unique(), key=lambda each: abs(each / CLAIMED_RATE - 1))
    cold, warm = runs["warmup"].min(), runs["warmup"].max()
    here = runs[runs["lr"] == lr]
    gain = {p: difference(here[here["placement"] == p], "warmup", warm, cold) for p in NAMES}
    spoilt = here[(here["warmup"] == cold) & (here["ended"] != "finished")]["placement"].value_counts()
    broken = {p: int(spoilt.get(p, 0)) for p in NAMES}
    needs = broken["post"] > 0 and broken["pre"] == 0 and gain["post"].high < 0  # what breaks, warm-up mends
    return Verdict(
        "A15",
        quote("at 12 layers and a learning rate of 3e-4, post-norm needs warm-up and pre-norm does not"),
        judged(HOLDS if needs else FAILS, [gain["pre"].n, gain["post"].n]),
        f"At {rate(lr)}, {whole(runs['n_layers'].iloc[0])} layers, without warm-up, {whole(broken['post'])} of "
        f"{whole(gain['post'].n)} post-norm runs collapse. A warm-up of {whole(warm)} updates changes post-norm's final "
        f"loss by {interval(gain['post'])} nats and pre-norm's by {interval(gain['pre'])}.",
    )


def _breaking(runs: Frame) -> Verdict:
    """From which learning rate on each placement collapses, in each setting."""
    found = {
        setting: {
            str(p): breaking_rate(group) for p, group in at_setting(runs, *setting).groupby("placement")
        }
        for setting in settings(runs)
    }
    words = [
        f"{title(tied, warmup and whole(warmup))}: {_in_words(each)}"
        for (tied, warmup), each in found.items()
    ]
    earlier = all(lowest["post"] < lowest["pre"] for lowest in found.values())
    moves = len({lowest["post"] for lowest in found.values()}) > 1
    verdict = (HOLDS + (", but the rate is not post-norm's own" if moves else "")) if earlier else FAILS
    return Verdict(
        "A15, where",
        quote("post-norm breaks at a lower learning rate than pre-norm"),
        judged(verdict, [runs["seed"].nunique()]),
        f"The lowest rate, above the best, at which some run collapses: {'; '.join(words)}.",
    )


def _in_words(lowest: dict[str, float]) -> str:
    return ", ".join(
        f"{NAMES[placement]} {rate(lr) if isfinite(lr) else 'none in the grid'}"
        for placement, lr in lowest.items()
    )


def _fairly(runs: Frame) -> Verdict:
    """Each placement at its best learning rate and warm-up, by head."""
    best = at_best_rate(runs, best_rates(runs, ["placement", "tied"], tuned=["warmup", "lr"]))
    gap = {bool(tied): difference(rows, "placement", "post", "pre") for tied, rows in best.groupby("tied")}
    cold = at_setting(runs, True, runs["warmup"].min())
    spread = {p: sensitivity(cold[cold["placement"] == p]).tolist() for p in NAMES}
    wider = paired_interval(spread["post"], spread["pre"])
    return Verdict(
        "C21",
        quote("pre-norm trains better than post-norm when all else is equal"),
        judged(_which_heads(gap), [each.n for each in gap.values()]),
        f"Each at its best learning rate and warm-up, post-norm's final loss lies {interval(gap[True])} nats above "
        f"pre-norm's with a tied head and, without warm-up, {interval(gap[False])} with an untied one. With a tied head "
        f"and no warm-up, its sensitivity to the learning rate is {interval(wider)} nats larger.",
    )


def _which_heads(gap: dict[bool, Interval]) -> str:
    better = {tied: each.excludes_zero and each.mean > 0 for tied, each in gap.items()}
    if all(better.values()):
        return HOLDS
    names = [("tied" if tied else "untied") for tied, holds in better.items() if holds]
    return f"holds when the head is {names[0]}" if names else FAILS
