"""Claims about the scores of attention: their scale, and a slip in it."""

import math

import torch
import torch.nn.functional as F

from blockproof.model.attention import FusedHeads, merge_heads, split_heads
from blockproof.model.position import Position
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, apart, verdict
from blockproof.tests.helpers import B, D, H, T, randomise, tiny_config

ONE_HEAD = "there is one head"


def scale() -> Found:
    """Both paths against each other, and the scale read off the weights: log-ratios are score differences."""
    module, x = randomise(FusedHeads(tiny_config()), 0.5).double().eval(), torch.randn(B, T, D).double()
    with torch.no_grad():
        output, weights = module.explicit(x, Position(tiny_config()))
        paths = apart(output, module(x, Position(tiny_config())))
        q, k, _ = module.heads(x)
    products, logs = (q @ k.transpose(-2, -1))[:, :, -1], weights[:, :, -1].log()
    products, logs = (each - each[..., :1] for each in (products, logs))
    found = ((logs * products).sum() / products.square().sum()).item()
    off = apart(logs, products * found)
    return Found(
        verdict(abs(found * math.sqrt(D / H) - 1) < EXACT and max(off, paths) < EXACT),
        "Read off the weights, each score is q·k times {found:.6f}. The inverse root of a head's width, "
        "{d_head}, is {expected:.6f}; that of the model's would be {slip:.6f}. The kernel and the formula "
        "differ by {paths:.1g}.",
        {
            "found": found,
            "d_head": D // H,
            "expected": 1 / math.sqrt(D / H),
            "slip": 1 / math.sqrt(D),
            "paths": paths,
        },
    )


def slipped(n_heads: int) -> tuple[float, float]:
    """With the root of the model's width: how much lower scores are, and how far the output moves."""
    config = tiny_config(attention={"n_heads": n_heads})
    module, x = randomise(FusedHeads(config), 0.5).double().eval(), torch.randn(B, T, D).double()
    with torch.no_grad():
        q, k, v = (split_heads(part, n_heads) for part in module.qkv(x).split(D, dim=-1))
        right, wrong = (
            F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
            for scale in (None, 1 / math.sqrt(D))
        )
        moved = apart(*(module.output(merge_heads(y)) for y in (right, wrong)))
        scores = [q[:, :, -1:] @ k.transpose(-2, -1) / math.sqrt(width) for width in (D / n_heads, D)]
    return (scores[0].std() / scores[1].std()).item(), moved


def slip() -> Found:
    """One head hides it: its width is the model's."""
    heads = (1, 3, 6)
    (_, one), *more = (slipped(n_heads) for n_heads in heads)
    as_told = all(abs(lower - math.sqrt(n)) < EXACT for n, (lower, _) in zip(heads[1:], more, strict=True))
    differs = all(moved > EXACT for _, moved in more)
    return Found(
        verdict(one < EXACT and not differs, ONE_HEAD, one < EXACT and as_told),
        "Dividing by the root of the model's width makes every score {lower_few:.3f} times smaller with "
        "{few} heads and {lower_many:.3f} times with {many}, the roots of these numbers. It moves the "
        "output by up to {moved_few:.1f} and {moved_many:.1f}, with one head by {moved_one:g}.",
        {
            **{"few": heads[1], "many": heads[2], "lower_few": more[0][0], "lower_many": more[1][0]},
            **{"moved_one": one, "moved_few": more[0][1], "moved_many": more[1][1]},
        },
    )


CLAIMS = (
    Claim("B2", "scores are divided by the root of a head's width", HOLDS, scale),
    Claim("B2, slip", "the root of the model's width does as well", f"holds when {ONE_HEAD}", slip),
)
