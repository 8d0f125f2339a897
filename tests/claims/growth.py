"""Claims about the scale of a deep stack as built: how the stream grows, and what the final norm does about it."""

from functools import cache

import torch

from blockproof.model.transformer import Transformer
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import rms, verdict
from blockproof.tests.helpers import tiny_config

STREAM = "no norm stands on the stream itself"
SHALLOW, DEEP, WIDTH, DRAWS = 2, 16, 128, 4
GROWS = 1.5


@cache
def built(placement: str, n_layers: int, *, final: bool) -> tuple[list[float], float]:
    """The assumptions of Xiong et al.: mean square of the stream behind each layer, scale of the logits."""
    squares, logits = torch.zeros(n_layers), 0.0
    for seed in range(DRAWS):
        torch.manual_seed(seed)
        config = tiny_config(
            d_model=WIDTH, n_layers=n_layers, position="none", init="xiong", tied=False,
            attention={"n_heads": 1}, feedforward={"kind": "relu", "width": WIDTH},
            norm={"placement": placement, "final": final},
        )  # fmt: skip
        model, x = Transformer(config), torch.randn(8, 8, WIDTH)
        assert model.head is not None
        with torch.no_grad():
            for i, block in enumerate(model.blocks):
                x = block(x, model.position)
                squares[i] += x.square().mean() / DRAWS
            logits += rms(model.head(model.norm(x))) / DRAWS
    return squares.tolist(), logits


def sums_grow() -> Found:
    """Lemma 2: from (1 + l/2) d to (1 + 3l/2) d behind layer l."""
    squares, _ = built("pre", DEEP, final=True)
    inside = [1 + i / 2 <= square <= 1 + 3 * i / 2 for i, square in enumerate(squares, start=1)]
    return Found(
        verdict(all(inside) and squares == sorted(squares)),
        "In a pre-norm stack as the lemma assumes it, the mean square of the stream is {first:.2f} behind "
        "the first layer and {last:.2f} behind layer {layers}, where the lemma allows {low:.1f} to "
        "{high:.1f}; {inside} of the layers are within its bounds.",
        {
            **{"first": squares[0], "last": squares[-1], "layers": DEEP, "inside": sum(inside)},
            **{"low": 1 + DEEP / 2, "high": 1 + 3 * DEEP / 2},
        },
    )


def final_norm() -> Found:
    """How the scale of the logits grows from the shallow stack to the deep one."""
    growth = {
        (placement, final): built(placement, DEEP, final=final)[1] / built(placement, SHALLOW, final=final)[1]
        for placement in ("pre", "post")
        for final in (True, False)
    }
    bare, normed = (all(growth[p, final] > GROWS for p in ("pre", "post")) for final in (False, True))
    before = growth["pre", False] > GROWS > growth["pre", True]
    return Found(
        verdict(bare and not normed, STREAM, before and not normed),
        "From {shallow} to {deep} layers, as built, logits grow {pre:.2f} times with pre-norm and no final "
        "norm, {pre_normed:.2f} times with one; with post-norm, {post:.2f} times without one.",
        {
            **{"shallow": SHALLOW, "deep": DEEP, "pre": growth["pre", False]},
            **{"pre_normed": growth["pre", True], "post": growth["post", False]},
        },
    )


CLAIMS = (
    Claim("B9", "residual sums grow with depth, as Xiong's Lemma 2 bounds them", HOLDS, sums_grow),
    Claim(
        "B9, final norm", "without a final norm, logits grow with depth", f"holds when {STREAM}", final_norm
    ),
)
