"""What the training runs say."""

from blockproof.ablations.frame import Frame
from blockproof.ablations.statistics import Interval, t_interval
from blockproof.report.numbers import fixed, interval, quote, whole
from blockproof.report.verdict import FAILS, HOLDS, UNDECIDED, Verdict, judged, positive

AGREES = 1.25  # a factor; times that follow the count of operations this closely agree with it


def verdicts(frames: dict[str, Frame]) -> list[Verdict]:
    """Whether the toy learns, and whether the clock agrees with the count."""
    return [_toy(frames["toy"]), _clock(frames["speed"])]


def _toy(toy: Frame) -> Verdict:
    final, blind = t_interval(toy["score"].tolist()), toy["blind_loss"].iloc[0]
    below = Interval(blind - final.mean, blind - final.high, blind - final.low, final.n)
    return Verdict(
        "B11",
        quote("the toy GPT learns a corpus of characters"),
        judged(positive(below), [final.n]),
        f"After {whole(toy['steps'].iloc[0])} updates its validation loss is {interval(final, 3)} nats; a model that "
        f"sees no context ends at {fixed(blind, 3)}, one that knows nothing at {fixed(toy['loss_at_init'].mean(), 3)} "
        f"(the toy before its first update).",
    )


def _clock(speed: Frame) -> Verdict:
    """Of the smallest and the largest model: how far their times are from the ratio of their operations."""
    largest = speed[speed["operations"] == speed["operations"].max()]
    grown = t_interval(largest["seconds_ratio"].tolist())
    counted = largest["operations_ratio"].iloc[0]
    ratio = Interval(grown.mean / counted, grown.low / counted, grown.high / counted, grown.n)
    return Verdict(
        "C15, speed",
        quote("theoretical complexity agrees with the tokens per second"),
        judged(_agreement(ratio), [ratio.n]),
        f"From the smallest model to the largest the operations of a token grow by a factor of {fixed(counted, 1)}, its "
        f"time by {interval(grown, 1)}; they agree if one is within a factor of {quote(f'{AGREES:g}')} of the other.",
    )


def _agreement(ratio: Interval) -> str:
    if ratio.low > 1 / AGREES and ratio.high < AGREES:
        return HOLDS
    return FAILS if ratio.low > AGREES or ratio.high < 1 / AGREES else UNDECIDED
