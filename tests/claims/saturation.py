"""Claims about attention without its scale: what softmax makes of larger scores."""

import math
from functools import cache
from typing import NamedTuple

import torch

from blockproof.model.attention import FusedHeads
from blockproof.model.transformer import Transformer
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import verdict
from blockproof.tests.helpers import tiny_config

WIDER = "heads are much wider than usual"
WIDTHS = (16, 64, 256, 1024)  # of a head
USUAL = 64  # a head of GPT-2 small
SETS, KEYS, QUERIES = 20, 32, 100
VANISHED = 0.1  # of what there is with the scale


class Drawn(NamedTuple):
    """What softmax makes of standard normal queries and keys of one width, scaled or not.

    Attributes:
        variance: of the scores.
        peak: the largest weight, on average.
        slope: the Frobenius norm of softmax's derivative, diag(w) - w wᵀ: of the median query.
        pull: the norm of the gradient by a query of a random mix of its outputs, on average.
    """

    variance: float
    peak: float
    slope: float
    pull: float


@cache
def drawn(d_head: int, *, scaled: bool) -> Drawn:
    """Sets of keys with many queries each, drawn alike for both."""
    generator = torch.Generator().manual_seed(d_head)
    q, k, v = (
        torch.randn(SETS, n, width, dtype=torch.float64, generator=generator)
        for n, width in ((QUERIES, d_head), (KEYS, d_head), (KEYS, 1))
    )
    scores = q.requires_grad_() @ k.transpose(-2, -1) / (math.sqrt(d_head) if scaled else 1.0)
    weights = scores.softmax(dim=-1)  # (sets, queries, keys)
    (pull,) = torch.autograd.grad((weights @ v).sum(), q)
    w = weights.detach()
    slope = torch.linalg.matrix_norm(w.diag_embed() - w[..., :, None] * w[..., None, :])
    return Drawn(
        scores.var().item(),
        w.amax(dim=-1).mean().item(),
        slope.median().item(),
        pull.norm(dim=-1).mean().item(),
    )


def at_gpt2_init() -> float:
    """The variance of q·k at the width and init of GPT-2 small, for normed inputs."""
    model = Transformer(tiny_config(d_model=12 * USUAL, init="gpt2", attention={"n_heads": 12}))
    module = model.get_submodule("blocks.0.attention.sublayer")
    assert isinstance(module, FusedHeads)
    with torch.no_grad():
        q, k, _ = module.heads(torch.randn(8, 16, 12 * USUAL))
    return (q @ k.transpose(-2, -1)).var().item()


def saturation() -> Found:
    """The variance against the width, and how far softmax is from one key alone."""
    bare, scaled = ([drawn(d, scaled=scaled) for d in WIDTHS] for scaled in (False, True))
    grows = all(abs(each.variance / d - 1) < 0.05 for d, each in zip(WIDTHS, bare, strict=True))
    peaks = [each.peak for each in bare]
    sharpens = peaks == sorted(peaks) and peaks[-1] > 0.9 and max(each.peak for each in scaled) < 0.2
    return Found(
        verdict(grows and sharpens),
        "For standard normal q and k of width {narrow} to {wide} the variance of q·k is {low:.1f} to "
        "{high:.0f}. The largest of {keys} weights is {peak_low:.2f} to {peak_high:.2f} on average without "
        "the scale, {scaled:.2f} at most with it. Queries and keys are not like that as built: at GPT-2 "
        "small's init, heads of width {gpt2}, the variance is {init:.1f}.",
        {
            **{"narrow": WIDTHS[0], "wide": WIDTHS[-1], "low": bare[0].variance, "high": bare[-1].variance},
            **{"keys": KEYS, "peak_low": peaks[0], "peak_high": peaks[-1]},
            **{"scaled": max(each.peak for each in scaled), "gpt2": USUAL, "init": at_gpt2_init()},
        },
    )


def vanishing() -> Found:
    """The derivative of softmax without the scale over that with it, for the median query."""
    both = {d: (drawn(d, scaled=False), drawn(d, scaled=True)) for d in WIDTHS}
    left = {d: bare.slope / scaled.slope for d, (bare, scaled) in both.items()}
    pulls = {d: bare.pull / scaled.pull for d, (bare, scaled) in both.items()}
    wide = [d for d in WIDTHS if left[d] < VANISHED]
    from_there_on = tuple(wide) == tuple(d for d in WIDTHS if d > USUAL)
    values = {f"width_{i}": d for i, d in enumerate(WIDTHS)}
    return Found(
        verdict(len(wide) == len(WIDTHS), WIDER, from_there_on),
        "Taking the scale away leaves of softmax's derivative, for the median query, {left_0:.2f} at width "
        "{width_0}, {left_1:.2f} at {width_1}, {left_2:.2f} at {width_2} and {left_3:.1g} at {width_3}. The "
        "gradient that reaches a query is no smaller for it, on average: {least:.1f} to {most:.1f} times as "
        "large, since q·k is larger too.",
        {
            **values,
            **{f"left_{i}": left[d] for i, d in enumerate(WIDTHS)},
            **{"least": min(pulls.values()), "most": max(pulls.values())},
        },
    )


CLAIMS = (
    Claim("B3", "without the scale, q·k has variance d and softmax saturates", HOLDS, saturation),
    Claim(
        "B3, gradient",
        "without the scale, the gradient of softmax vanishes",
        f"holds when {WIDER}",
        vanishing,
    ),
)
