"""What the position ablation says."""

from blockproof.ablations.frame import Frame
from blockproof.ablations.runs import TOLD_APART
from blockproof.ablations.statistics import t_interval
from blockproof.ablations.views.compare import difference
from blockproof.report.numbers import fixed, interval, power, quote, whole
from blockproof.report.verdict import FAILS, HOLDS, Verdict, judged


def verdicts(frames: dict[str, Frame]) -> list[Verdict]:
    """What is exact, what a model can learn, and what it costs on text."""
    return [_exact(frames["permutation"]), _learned(frames["order"]), _text(frames["text"])]


def _exact(moved: Frame) -> Verdict:
    """The last logits of untrained models without positions, in float64."""
    bare = moved[moved["position"] == "none"]
    most = bare.groupby(["pair", "n_layers"])["moved"].agg(["min", "max"])
    clean, confounded = most.loc["clean"], most.loc["confounded"]
    one, several = clean.index.min(), clean.index[1:]
    blind_at_one = clean.loc[one, "max"] < TOLD_APART
    told_by_several = (clean.loc[several, "min"] > TOLD_APART).all()
    partly = blind_at_one and told_by_several
    return Verdict(
        "C20",
        quote("without positions, order cannot be told: A B C D looks like D C B A"),
        judged(f"holds when there is {whole(one)} layer" if partly else FAILS, [bare["seed"].nunique()]),
        f"From A B C D to B C A D, the last token held fixed, the last logits of {whole(one)} layer move by at "
        f"most {power(clean.loc[one, 'max'])}, which is rounding; of {whole(several.min())} to "
        f"{whole(several.max())} layers by at least {fixed(clean.loc[several, 'min'].min())}: the causal mask "
        f"tells order. A B C D against D C B A is confounded: its last token differs, so even {whole(one)} layer "
        f"moves by {fixed(confounded.loc[one, 'min'])} or more.",
    )


def _learned(order: Frame) -> Verdict:
    """Trained on the order task, where the loss of a model that cannot tell order is known."""
    bare = order[order["position"] == "none"]
    chance = bare["blind_loss"].iloc[0]
    loss = {key: t_interval(rows["score"].tolist()) for key, rows in bare.groupby(["asked", "n_layers"])}
    first, every = bare["asked"].min(), bare["asked"].max()
    one, two = bare["n_layers"].min(), bare["n_layers"].max()
    learns = loss[first, one].high > chance - 0.01 and loss[first, two].high < chance / 2
    told = order[(order["position"] == "learned") & (order["n_layers"] == two)]
    positions = t_interval(told.loc[told["asked"] == every, "score"].tolist())
    return Verdict(
        "C20, trained",
        quote("a causal model without positions can learn order from its mask, given two layers"),
        judged("holds when one place is asked for" if learns else FAILS, [i.n for i in loss.values()]),
        f"Not knowing the order costs {fixed(chance)} nats. Asked which symbol came first, {whole(one)} layer "
        f"without positions ends at {interval(loss[first, one])}, {whole(two)} layers at "
        f"{interval(loss[first, two], 3)}. Asked for any of {whole(every)} places, {whole(two)} layers without "
        f"positions end at {interval(loss[every, two])} within the budget, and with learned positions at "
        f"{interval(positions, 3)}.",
    )


def _text(text: Frame) -> Verdict:
    gap = difference(text, "position", "none", "learned")
    return Verdict(
        "C20, text",
        quote("on text, learned positions do better than none"),
        judged(HOLDS if gap.excludes_zero and gap.mean > 0 else FAILS, [gap.n]),
        f"After training on text, the model without positions ends {interval(gap, 3)} nats above the one with "
        f"learned positions.",
    )
