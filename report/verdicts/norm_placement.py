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
from blockproof.report.verdict import FAILS, HOLDS, UNDECIDED, Verdict, judged, positive

CLAIMED_RATE = 3e-4


def verdicts(frames: dict[str, Frame]) -> list[Verdict]:
    """Whether warm-up is what post-norm needs, where each placement breaks, on what that depends, who is better."""
    runs = frames["runs"]
    return [_warmup(runs[runs["tied"]]), _breaking(runs), _head(runs), _fairly(runs)]


def _warmup(runs: Frame) -> Verdict:
    """The claim at its own learning rate: the nearest in the grid."""
    lr = min(runs["lr"].unique(), key=lambda each: abs(each / CLAIMED_RATE - 1))
    cold, warm = runs["warmup"].min(), runs["warmup"].max()
    here = runs[runs["lr"] == lr]
    gain = {p: difference(here[here["norm_placement"] == p], "warmup", warm, cold) for p in NAMES}
    lost = {key: (rows["ended"] != "finished") for key, rows in here.groupby(["norm_placement", "warmup"])}
    breaks, mended = lost["post", cold].mean() >= 0.5, not lost["post", warm].any()
    needs = breaks and mended and not lost["pre", cold].any()
    return Verdict(
        "A15",
        quote("at 12 layers and a learning rate of 3e-4, post-norm needs warm-up and pre-norm does not"),
        judged(HOLDS if needs else FAILS, [each.n for each in gain.values()]),
        f"At {rate(lr)} and {whole(runs['n_layers'].iloc[0])} layers, with a tied head, {whole(lost['post', cold].sum())} "
        f"of {whole(gain['post'].n)} post-norm runs collapse without warm-up and {whole(lost['post', warm].sum())} with "
        f"{whole(warm)} updates of it; of pre-norm {whole(lost['pre', cold].sum())} and {whole(lost['pre', warm].sum())}. "
        f"Warm-up changes post-norm's final loss by {interval(gain['post'])} nats and pre-norm's by "
        f"{interval(gain['pre'])}.",
    )


def _breaking(runs: Frame) -> Verdict:
    """From which learning rate on each placement collapses, in each setting."""
    found = {
        setting: {p: breaking_rate(_of(at_setting(runs, *setting), p)) for p in NAMES}
        for setting in settings(runs)
    }
    words = [
        f"{title(tied, warmup and whole(warmup))}: {', '.join(f'{NAMES[p]} {_rate(lr)}' for p, lr in each.items())}"
        for (tied, warmup), each in found.items()
    ]
    told = [each for each in found.values() if isfinite(min(each.values()))]
    earlier = [each["post"] < each["pre"] for each in told]
    verdict = UNDECIDED if not told else HOLDS if all(earlier) else FAILS
    return Verdict(
        "A15, where",
        quote("post-norm breaks at a lower learning rate than pre-norm"),
        judged(verdict, [runs["seed"].nunique()]),
        f"The lowest rate above the best at which at least half of the runs collapse: {'; '.join(words)}.",
    )


def _head(runs: Frame) -> Verdict:
    """Compares heads without warm-up, at the learning rates that both were run at."""
    claim = ("A15, whose", quote("that rate belongs to the placement of the norm"))
    cold = runs[(runs["warmup"] == runs["warmup"].min()) & (runs["norm_placement"] == "post")]
    tied, untied = cold[cold["tied"]], cold[~cold["tied"]]
    shared = sorted(set(tied["lr"]) & set(untied["lr"]))
    if not shared:  # a smoke run keeps the ends of each grid only
        return Verdict(*claim, "not judged: no rate in common", "No learning rate was run with both heads.")
    breaks = {
        tie: breaking_rate(rows[rows["lr"].isin(shared)]) for tie, rows in ((True, tied), (False, untied))
    }
    verdict = FAILS if breaks[True] != breaks[False] else HOLDS if isfinite(breaks[True]) else UNDECIDED
    return Verdict(
        *claim,
        judged(verdict, [cold["seed"].nunique()]),
        f"Without warm-up, over the rates from {rate(shared[0])} to {rate(shared[-1])} that both were run at, post-norm "
        f"breaks at: {_rate(breaks[True])} with a tied head, {_rate(breaks[False])} with an untied one.",
    )


def _fairly(runs: Frame) -> Verdict:
    """Each placement at its best learning rate and warm-up, by head."""
    best = at_best_rate(runs, best_rates(runs, ["norm_placement", "tied"], tuned=["warmup", "lr"]))
    gap = {
        bool(tied): difference(rows, "norm_placement", "post", "pre") for tied, rows in best.groupby("tied")
    }
    cold = at_setting(runs, True, runs["warmup"].min())
    spread = {p: sensitivity(_of(cold, p)).tolist() for p in NAMES}
    wider = paired_interval(spread["post"], spread["pre"])
    return Verdict(
        "C21",
        quote("pre-norm trains better than post-norm when all else is equal"),
        judged(_which_heads(gap), [each.n for each in gap.values()]),
        f"Each at its best setting, post-norm's final loss minus pre-norm's is {interval(gap[True])} nats with a tied "
        f"head, and {interval(gap[False])} with an untied one (run without warm-up only). With a tied head and no "
        f"warm-up, post-norm's sensitivity to the learning rate minus pre-norm's is {interval(wider)} nats.",
    )


def _which_heads(gap: dict[bool, Interval]) -> str:
    outcomes = {tied: positive(each) for tied, each in gap.items()}
    if len(set(outcomes.values())) == 1:
        return outcomes[True]
    holding = ["tied" if tied else "untied" for tied, outcome in outcomes.items() if outcome == HOLDS]
    return f"holds when the head is {holding[0]}" if holding else UNDECIDED


def _of(runs: Frame, placement: str) -> Frame:
    return runs[runs["norm_placement"] == placement]


def _rate(lr: float) -> str:
    return rate(lr) if isfinite(lr) else "nowhere in the grid"
