"""All claims on structure that a measurement of seconds decides, in the order of the lessons."""

import re
from dataclasses import replace

from blockproof.tests.claims import (
    blocks,
    closed_loop,
    damage,
    dropout,
    family,
    fused,
    growth,
    inference,
    labels,
    loop,
    mask,
    norms,
    paper,
    positions,
    residual,
    saturation,
    scores,
    stack,
    tiny_batch,
)
from blockproof.tests.claims.claim import Claim
from blockproof.tests.claims.measuring import reproducible

MODULES = (
    *(blocks, closed_loop, damage, dropout, family, fused, growth, inference, labels, loop),
    *(mask, norms, paper, positions, residual, saturation, scores, stack, tiny_batch),
)


def place(claim: Claim) -> tuple[str, int, str]:
    """By lesson, row and addition: A2, then "A2, mask alone", then A10."""
    found = re.fullmatch(r"([A-D])(\d+)(.*)", claim.id)
    if found is None:
        raise ValueError(f"the id {claim.id!r} does not begin with a lesson's letter and a row's number")
    return found[1], int(found[2]), found[3]


CLAIMS: tuple[Claim, ...] = tuple(
    replace(claim, measure=reproducible(claim.measure))
    for claim in sorted((claim for module in MODULES for claim in module.CLAIMS), key=place)
)
