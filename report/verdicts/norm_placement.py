"""What the norm placement ablation says."""

from blockproof.ablations.frame import Frame
from blockproof.ablations.statistics import paired_interval
from blockproof.ablations.views.compare import at_best_rate, best_rates, difference
from blockproof.ablations.views.norm_placement import collapse_by_rate, sensitivity
from blockproof.report.numbers import interval, quote, rate, whole
from blockproof.report.verdict import FAILS, HOLDS, Verdict, judged

CLAIMED_RATE = 3e-4


def verdicts(frames: dict[str, Frame]) -> list[Verdict]:
    """Where post-norm breaks, whether warm-up is what it needs, and which placement does better."""
    return [_warmup(frames["runs"]), _fairly(frames["runs"])]


def _warmup(runs: Frame) -> Verdict:
    """The claim at its own learning rate: the nearest in the grid."""
    rates = runs["lr"].unique()
    lr = min(rates, key=lambda each: abs(each / CLAIMED_RATE - 1))
    cold, warm = runs["warmup"].min(), runs["warmup"].max()
    here = runs[runs["lr"] == lr]
    gain = {p: difference(here[here["placement"] == p], "warmup", warm, cold) for p in ("pre", "post")}
    broken = {p: _spoilt(here, p, cold) for p in ("pre", "post")}
    needs = broken["post"] > 0 and broken["pre"] == 0
    layers = whole(runs["n_layers"].iloc[0])
    return Verdict(
        "A15",
        quote("at 12 layers and a learning rate of 3e-4, post-norm needs warm-up and pre-norm does not"),
        judged(HOLDS if needs else FAILS, [gain["pre"].n, gain["post"].n]),
        f"At {rate(lr)}, {layers} layers, without warm-up, {whole(broken['post'])} post-norm runs collapse; a "
        f"warm-up of {whole(warm)} updates changes post-norm's loss by {interval(gain['post'])} nats "
        f"and pre-norm's by {interval(gain['pre'])}. {_breaks(runs, cold)} {_breaks(runs, warm)}",
    )


def _breaks(runs: Frame, warmup: int) -> str:
    """From which learning rate on runs collapse, for each placement."""
    words = []
    for placement, group in runs[runs["warmup"] == warmup].groupby("placement", sort=False):
        share = collapse_by_rate(group)
        bad = share[share > 0]
        lowest = f"collapses from {rate(bad.index.min())} on" if len(bad) else "collapses nowhere in the grid"
        words.append(f"{placement}-norm {lowest}")
    start = f"With a warm-up of {whole(warmup)}" if warmup else "Without warm-up"
    return f"{start}, {' and '.join(words)}."


def _spoilt(runs: Frame, placement: str, warmup: int) -> int:
    """How many runs of a variant collapsed or diverged."""
    mine = runs[(runs["placement"] == placement) & (runs["warmup"] == warmup)]
    return int((mine["ended"] != "finished").sum())


def _fairly(runs: Frame) -> Verdict:
    best = at_best_rate(runs, best_rates(runs, ["placement"], tuned=["warmup", "lr"]))
    cold = runs[runs["warmup"] == runs["warmup"].min()]
    gap = difference(best, "placement", "post", "pre")
    spread = {p: sensitivity(cold[cold["placement"] == p]).tolist() for p in ("pre", "post")}
    wider = paired_interval(spread["post"], spread["pre"])
    better = gap.excludes_zero and gap.mean > 0
    return Verdict(
        "C21",
        quote("pre-norm trains better than post-norm when all else is equal"),
        judged(HOLDS if better else FAILS, [gap.n]),
        f"Each at its best learning rate and warm-up, post-norm ends {interval(gap)} nats above pre-norm. Over the whole "
        f"grid, without warm-up, post-norm's sensitivity to the learning rate is {interval(wider)} nats larger.",
    )
