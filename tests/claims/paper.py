"""Claims of the original paper: the feed-forward, what each sub-layer mixes, its learning-rate schedule."""

from collections.abc import Callable

import torch
from torch import Tensor

from blockproof.model.schedule import learning_rate
from blockproof.model.transformer import Block
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, apart, verdict
from blockproof.tests.helpers import B, D, T, tiny_model
from blockproof.tests.oracle.feedforward import FEEDFORWARDS
from blockproof.tests.oracle.weights import weights_of

WIDTH, WARMUP, LAST = 512, 4000, 20_000  # of the original paper; the last step looked at


def by_place() -> Found:
    """Both activations against NumPy; then each token alone, and the hidden width."""
    x, alone, formula, widths = torch.randn(B, T, D, dtype=torch.float64), 0.0, 0.0, set()
    for kind in ("relu", "gelu"):
        module = tiny_model(feedforward={"kind": kind}).get_submodule("blocks.0.feedforward.sublayer")
        y = module(x)
        by_hand = torch.from_numpy(FEEDFORWARDS[kind](x.numpy(), weights_of(module)))
        singly = torch.stack([module(x[:, t : t + 1]).squeeze(1) for t in range(T)], dim=1)
        formula, alone = max(formula, apart(y, by_hand)), max(alone, apart(y, singly))
        widths.add(module.get_submodule("up")(x).shape[-1] / D)
    return Found(
        verdict(max(alone, formula) < EXACT and widths == {4.0}),
        "With ReLU and with GELU the hidden layer is {factor:g} times as wide as the stream; outputs differ "
        "from the formula by at most {formula:.1g}, and from those of each token by itself by {alone:.1g}.",
        {"factor": max(widths), "formula": formula, "alone": alone},
    )


def rows_moved(sublayer: Callable[[Tensor], Tensor]) -> list[list[int]]:
    """For each token of a sequence, the places at which the output moves when it is changed."""
    x = torch.randn(1, T, D, dtype=torch.float64)
    moved = []
    for j in range(T):
        other = x.clone()
        other[0, j] = torch.randn(D)  # a norm would take no notice of the same for all features
        changed = (sublayer(x) != sublayer(other)).any(dim=-1)
        moved.append(changed[0].nonzero().flatten().tolist())
    return moved


def exchange() -> Found:
    """Each sub-layer with its norm and its residual, exactly."""
    model = tiny_model()
    block = model.blocks[0]
    assert isinstance(block, Block)
    attention, feedforward = block.attention, block.feedforward
    assert attention is not None
    assert feedforward is not None
    mixed, single = rows_moved(lambda x: attention(x, model.position)), rows_moved(feedforward)
    mixes = mixed == [list(range(j, T)) for j in range(T)]
    return Found(
        verdict(mixes and single == [[j] for j in range(T)]),
        "Changing one of {tokens} tokens, each in turn, moves {mixed} rows behind attention in all, its own "
        "and all later ones; behind the feed-forward {single}, its own alone.",
        {"tokens": T, "mixed": sum(map(len, mixed)), "single": sum(map(len, single))},
    )


def noam(step: int) -> float:
    """The rate that training uses at update ``step``, counted from 1 as the paper does."""
    highest = (WIDTH * WARMUP) ** -0.5
    return learning_rate(step - 1, lr=highest, steps=LAST, warmup=WARMUP, schedule="noam")


def schedule() -> Found:
    """Its highest point, the two shapes on its sides, and the formula as it is printed, step by step."""
    rates = {step: noam(step) for step in range(1, LAST + 1)}
    printed = {step: WIDTH**-0.5 * min(step**-0.5, step * WARMUP**-1.5) for step in rates}
    peak = max(rates, key=lambda step: rates[step])
    rising = max(abs(rates[step] / step / rates[1] - 1) for step in range(1, WARMUP + 1))
    falling = max(
        abs(rates[step] * (step / WARMUP) ** 0.5 / rates[WARMUP] - 1) for step in range(WARMUP, LAST + 1)
    )
    off = max(abs(rates[step] / printed[step] - 1) for step in rates)
    exact = max(rising, falling, off) < EXACT
    return Found(
        verdict(peak == WARMUP and exact),
        "At width {width} and a warm-up of {warmup} steps the rate of training is highest at step {peak}, "
        "{highest:.4g}, and off from the printed formula by {off:.1g} of itself at most. "
        "Up to there it is off from a straight line by {rising:.1g} of itself at most, "
        "behind it from an inverse root by {falling:.1g}.",
        {
            **{"width": WIDTH, "warmup": WARMUP, "peak": peak, "highest": rates[peak]},
            **{"rising": rising, "falling": falling, "off": off},
        },
    )


CLAIMS = (
    Claim("B4", "the feed-forward goes from D to 4D and back, place by place", HOLDS, by_place),
    Claim(
        "B10",
        "Noam's rate rises linearly and falls as an inverse root, highest after warm-up",
        HOLDS,
        schedule,
    ),
    Claim("B12", "attention exchanges between positions, the feed-forward does not", HOLDS, exchange),
)
