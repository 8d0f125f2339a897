"""Claims about the ways of telling positions: how far they reach, what they change."""

from itertools import pairwise

import torch
from torch import Tensor

from blockproof.model.position import POSITIONS, RotaryPosition, SinusoidalPosition
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, apart, rms, verdict
from blockproof.tests.helpers import B, D, T, copies, tiny_config, tiny_ids, tiny_model

FAR = 1_000_000


def reaches(kind: str, place: int) -> bool:
    """Whether a position can tell that place."""
    position = POSITIONS[kind](tiny_config(position=kind)).double()
    try:
        told = position(torch.zeros(1, 1, D, dtype=torch.float64), torch.tensor([place]))
    except IndexError:
        return False
    return bool(told.isfinite().all())


def maximum() -> Found:
    """The last place of the table, the first behind it, and a place far behind."""
    sizes = {kind: sum(p.numel() for p in POSITIONS[kind](tiny_config(position=kind)).parameters())
             for kind in ("learned", "sinusoidal")}  # fmt: skip
    within, behind = reaches("learned", T - 1), reaches("learned", T)
    anywhere = reaches("sinusoidal", T) and reaches("sinusoidal", FAR)
    return Found(
        verdict(within and not behind and anywhere and sizes == {"learned": T * D, "sinusoidal": 0}),
        "A learned table for {context} places, {learned} parameters, gives the last of them and an "
        "IndexError for the next. Sinusoids, {sinusoidal} parameters, are finite at place {far} as well.",
        {"context": T, "far": FAR, **sizes},
    )


def bias() -> Found:
    """Equal weights, with a bias of the scores and without one."""
    ids, plain = tiny_ids(), tiny_model(position="none")
    moved = {}
    for kind in ("alibi", "t5"):
        model = tiny_model(position=kind)
        model.load_state_dict(copies(plain), strict=False)  # T5's table is its own
        moved[kind] = rms(model(ids) - plain(ids)) / rms(plain(ids))
    return Found(
        verdict(min(moved.values()) > EXACT),
        "With equal weights, the biases of ALiBi move the logits by {alibi:.2f} of their root mean square, "
        "a bias by buckets of distance by {t5:.2f}.",
        moved,
    )


def scores_at(q: Tensor, k: Tensor, at: int, distance: int) -> Tensor:
    """q·k of a query at a place and a key that many places before it, both turned."""
    rotary = RotaryPosition(tiny_config(position="rope"))
    q, k = rotary.rotate(q, torch.tensor([at])), rotary.rotate(k, torch.tensor([at - distance]))
    return (q * k).sum(dim=-1)


def distance_alone() -> Found:
    """One query and key at many places: the same distance, then another."""
    q, k = (torch.randn(B, 1, 1, 64, dtype=torch.float64) for _ in range(2))
    places, distances = (10, 11, 100, 1000, 10_000), (0, 1, 2, 5, 10)
    rows = {d: torch.stack([scores_at(q, k, place, d) for place in places]) for d in distances}  # by distance
    same = max(apart(each, each[:1]) for each in rows.values())
    other = min(apart(rows[a][0], rows[b][0]) for a, b in pairwise(distances))
    added = SinusoidalPosition(tiny_config(position="sinusoidal"))
    vectors = [torch.cat([added(x, torch.tensor([place])) for place in places[:2]]) for x in (q, k)]
    absolute = apart(*(vectors[0] * vectors[1]).sum(dim=-1).split(B))
    return Found(
        verdict(same < 100 * EXACT < other),
        "For heads of width {width} and queries at places {first} to {last}, scores at equal distance "
        "differ by at most {same:.1g}, and by {other:.1f} or more where the distance changes. With "
        "sinusoids added instead, one place further on is worth {absolute:.2f} at equal distance.",
        {
            **{"width": q.shape[-1], "first": places[0], "last": places[-1]},
            **{"same": same, "other": other, "absolute": absolute},
        },
    )


CLAIMS = (
    Claim("C12", "learned positions have a hard maximum, sinusoids can be computed anywhere", HOLDS, maximum),
    Claim("C12, bias", "a relative bias changes the logits", HOLDS, bias),
    Claim("C12, RoPE", "with RoPE, q·k depends on the distance alone", HOLDS, distance_alone),
)
