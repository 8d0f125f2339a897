"""What the position ablation says."""

from blockproof.ablations.frame import Frame
from blockproof.ablations.runs import TOLD_APART
from blockproof.ablations.statistics import Interval, t_interval
from blockproof.ablations.views.compare import difference
from blockproof.report.numbers import fixed, interval, power, quote, rate, whole
from blockproof.report.verdict import FAILS, HOLDS, UNDECIDED, Verdict, judged, positive

CHANCE_MARGIN = 0.01  # nats below the blind loss that a model which cannot tell order may still end at


def verdicts(frames: dict[str, Frame]) -> list[Verdict]:
    """What is exact, what a model can learn, and what it costs on text."""
    return [_exact(frames["permutation"]), _learned(frames["order"]), _text(frames["text"])]


def _exact(moved: Frame) -> Verdict:
    """The last logits of untrained models without positions, in float64."""
    bare = moved[moved["position"] == "none"]
    most = bare.groupby(["pair", "n_layers"])["moved"].agg(["min", "max"])
    clean, confounded = most.loc["clean"], most.loc["confounded"]
    one = clean.index.min()
    blind = clean.index[clean["max"] < TOLD_APART]
    telling = clean.index[clean["min"] > TOLD_APART]
    if len(blind) + len(telling) < len(clean):
        verdict = UNDECIDED
    else:
        partly = f"holds when there is {whole(one)} layer" if list(blind) == [one] else FAILS
        verdict = partly if len(telling) else HOLDS
    depths = "; ".join(
        f"{whole(depth)} layer{'s' if depth > 1 else ''}, {power(low)} to {power(high)}"
        for depth, low, high in zip(clean.index, clean["min"], clean["max"], strict=True)
    )
    return Verdict(
        "C20",
        quote("without positions, order cannot be told"),
        judged(verdict, [bare["seed"].nunique()]),
        f"How far the last logits move over seeds when A B C D becomes B C A D, the last token held fixed: {depths} "
        f"(double precision: rounding is below {rate(TOLD_APART)}). A B C D against D C B A cannot "
        f"show it: the last token differs, and {whole(one)} layer moves by {fixed(confounded.loc[one, 'min'])} or more.",
    )


def _learned(order: Frame) -> Verdict:
    """Trained on the order task, where the loss of a model that cannot tell order is known."""
    bare = order[order["position"] == "none"]
    chance = bare["blind_loss"].iloc[0]
    loss = {key: t_interval(rows["score"].tolist()) for key, rows in bare.groupby(["asked", "n_layers"])}
    first, every = bare["asked"].min(), bare["asked"].max()
    one, two = bare["n_layers"].min(), bare["n_layers"].max()
    learned = {asked: _learns(loss[asked, two], chance) for asked in (first, every)}
    verdict = UNDECIDED
    if loss[first, one].low > chance - CHANCE_MARGIN and None not in learned.values():
        some, all_ = learned[first], learned[every]
        verdict = HOLDS if some and all_ else "holds when one place is asked for" if some else FAILS
    told = order[(order["position"] == "learned") & (order["asked"] == every) & (order["n_layers"] == two)]
    return Verdict(
        "C20, trained",
        quote("a causal model without positions can learn order from its mask, given two layers"),
        judged(verdict, [each.n for each in loss.values()]),
        f"Not knowing the order costs {fixed(chance)} nats. Asked which symbol came first, models without positions end "
        f"at {interval(loss[first, one])} with {whole(one)} layer and at {interval(loss[first, two], 3)} with {whole(two)}. "
        f"Asked for any of {whole(every)} places, {whole(two)} layers without positions end at "
        f"{interval(loss[every, two])} within this budget, and with learned positions at "
        f"{interval(t_interval(told['score'].tolist()), 3)}.",
    )


def _learns(loss: Interval, chance: float) -> bool | None:
    """Whether a model clearly beats chance, clearly does not, or neither."""
    if loss.high < chance / 2:
        return True
    return False if loss.low > chance - CHANCE_MARGIN else None


def _text(text: Frame) -> Verdict:
    gap = difference(text, "position", "none", "learned")
    return Verdict(
        "C20, text",
        quote("on text, learned positions do better than none"),
        judged(positive(gap), [gap.n]),
        f"After training on text at one learning rate, the final loss without positions minus that with learned "
        f"positions is {interval(gap, 3)} nats.",
    )
