"""What exact counts say about claims on sizes: no seeds, no intervals."""

from typing import Any

import pandas as pd

from blockproof.ablations.frame import Frame
from blockproof.report.numbers import fixed, quote, whole
from blockproof.report.verdict import FAILS, HOLDS, Verdict

NEAR = 0.01  # a share or an estimate this close to what is claimed agrees with it
Rows = dict[Any, dict[Any, Any]]  # by change, then by column
UNGROUPED = "holds when keys and values are not grouped"


def verdicts(models: Frame, changes: Frame) -> list[Verdict]:
    """Published counts, what biases and norms cost, how a block divides, and the estimate 12 N D²."""
    by_change: Rows = changes.set_index("change").to_dict("index")
    return [
        _published(models),
        *_savings(by_change),
        _matched(by_change),
        _heads(by_change),
        _shares(models),
        _of_the_model(models),
        _blocks(models),
        _totals(models),
    ]


def _published(models: Frame) -> Verdict:
    exact = models[~models["rounded"]]
    equal = exact["total"] == exact["parameters"]
    rest = models[models["rounded"]]
    near = ", ".join(
        f"{quote(row['name'])} {fixed(100 * (row['total'] / row['parameters'] - 1))} %"
        for row in rest.to_dict("records")
    )
    return Verdict(
        "A11",
        quote("12 blocks of width 768 with a tied head are GPT-2 small, 124,439,808 parameters"),
        HOLDS if equal.all() else FAILS,
        f"Built from its sizes alone, GPT-2 small has {whole(models['total'].iloc[0])} parameters. Of the "
        f"models whose exact number is published, {whole(equal.sum())} come out equal and {whole((~equal).sum())} do not; "
        f"from a published round number the count differs by: {near}.",
    )


def _savings(changes: Rows) -> list[Verdict]:
    base, bare = changes["as it is"], changes["no bias in linear layers"]
    shiftless, rms = changes["and no shift in any norm"], changes["RMSNorm"]
    norms, own = 2 * base["n_layers"] + 1, changes["a head of its own"]
    saved = (-bare["more"], -shiftless["more_in_blocks"], -shiftless["more"])
    fewer = -rms["more"] / norms
    return [
        Verdict(
            "A12",
            quote("12 layers of 768 save 82,944 without linear biases, 101,376 with the block norms' shifts, 102,144 in all"),
            HOLDS if saved == (82_944, 101_376, 102_144) else FAILS,
            f"GPT-2 small without linear biases has {whole(saved[0])} parameters fewer; without the shifts of the block "
            f"norms too {whole(saved[1])}; without the final norm's {whole(saved[2])}.",
        ),
        Verdict(
            "A9, size",
            quote("RMSNorm costs D parameters fewer than LayerNorm for each norm"),
            HOLDS if fewer == base["d_model"] else FAILS,
            f"In GPT-2 small {whole(fewer)} for each of its {whole(norms)} norms.",
        ),
        Verdict(
            "C4, size",
            quote("tying the head to the embedding saves V D parameters"),
            HOLDS if own["more"] == base["token embedding"] else FAILS,
            f"A head of its own costs GPT-2 small {whole(own['more'])} parameters more, the token embedding has "
            f"{whole(base['token embedding'])}.",
        ),
    ]  # fmt: skip


def _matched(changes: Rows) -> Verdict:
    base, gated = changes["as it is"], changes["SwiGLU, its width matched"]
    off = gated["more"] / base["feed-forward"]
    return Verdict(
        "C11, width",
        quote("SwiGLU has as many parameters as a feed-forward of width 4D at a width of about 8D/3"),
        HOLDS if abs(off) < NEAR and abs(gated["d_ff"] / (8 * base["d_model"] / 3) - 1) < NEAR else FAILS,
        f"In GPT-2 small the nearest width is {whole(gated['d_ff'])}; the feed-forwards then have "
        f"{whole(abs(gated['more']))} parameters {'more' if gated['more'] > 0 else 'fewer'}, "
        f"{fixed(100 * abs(off), 3)} % of them.",
    )


def _heads(changes: Rows) -> Verdict:
    more = changes["half of the heads, twice as wide"]["more"]
    return Verdict(
        "D3, size",
        quote("more heads make a larger model"),
        FAILS if more == 0 else HOLDS,
        f"At equal width, half of GPT-2 small's heads make a difference of {whole(more)} parameters.",
    )


def _shares(models: Frame) -> Verdict:
    third = models["attention"] / (models["attention"] + models["feed-forward"])
    wrong = (third - 1 / 3).abs() > NEAR
    return Verdict(
        "D1",
        quote("attention holds a third of a block's parameters, the feed-forward two thirds"),
        _unless_grouped(wrong, models),
        f"Attention's share of both: {_list(models, 100 * third)} %.",
    )


def _of_the_model(models: Frame) -> Verdict:
    share = models["feed-forward"] / models["total"]
    over = share > 0.6
    smallest, largest_below = models["total"][over].min(), models["total"][~over].max()
    verdict = HOLDS if over.all() else FAILS
    if over.any() and largest_below < smallest:
        verdict = f"holds when the model is large: from {whole(smallest)} parameters on"
    return Verdict(
        "D1, model",
        quote("the feed-forward holds over 60 % of the model's parameters"),
        verdict,
        f"The feed-forwards' share of all: {_list(models, 100 * share)} %.",
    )


def _blocks(models: Frame) -> Verdict:
    return Verdict(
        "D2, blocks",
        quote("the blocks have 12 N D² parameters"),
        _unless_grouped(models["formula_error"].abs() > NEAR, models),
        f"The estimate's error: {_list(models, 100 * models['formula_error'], 2)} %.",
    )


def _totals(models: Frame) -> Verdict:
    wrong = models["total_error"].abs() > NEAR
    return Verdict(
        "D2",
        quote("a model has 12 N D² parameters"),
        FAILS if wrong.any() else HOLDS,
        f"The estimate's error: {_list(models, 100 * models['total_error'])} %: embeddings and head are not in it.",
    )


def _unless_grouped(wrong: pd.Series, models: Frame) -> str:
    if not wrong.any():
        return HOLDS
    return UNGROUPED if wrong.equals(models["grouped"]) else FAILS


def _list(models: Frame, values: pd.Series, digits: int = 1) -> str:
    return ", ".join(
        f"{quote(name)} {fixed(value, digits)}" for name, value in zip(models["name"], values, strict=True)
    )
