"""Claims about the block: its shape, the weights it shows, the place of its norm."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import product

import torch

from blockproof.model.attention import ATTENTIONS
from blockproof.model.config import ModelConfig
from blockproof.model.feedforward import FEEDFORWARDS
from blockproof.model.position import POSITIONS, Position
from blockproof.model.residual import PLACEMENTS, RESIDUALS
from blockproof.model.schema import ConfigError
from blockproof.model.trace import attention_weights
from blockproof.model.transformer import Block, Transformer
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, apart, rms, verdict
from blockproof.tests.helpers import B, H, N, T, randomise, tiny_config, tiny_ids, tiny_model

HEADS = 6  # of the lesson's example
WIDTH = 36  # the least at which each of three heads is of even width and SwiGLU finds a matched one


def combinations() -> Iterator[ModelConfig]:
    """All that a config allows of the variants of a block."""
    for attention, feedforward, place, residual in product(ATTENTIONS, FEEDFORWARDS, PLACEMENTS, RESIDUALS):
        with suppress(ConfigError):  # some do not go together
            yield tiny_config(
                d_model=WIDTH,
                attention={"kind": attention},
                feedforward={"kind": feedforward},
                norm={"placement": place},
                residual={"kind": residual},
            )


def shapes() -> Found:
    """Every combination of a block's variants, one behind the other with nothing in between."""
    blocks = [Block(config) for config in combinations()]
    x, other, position = torch.randn(B, T, WIDTH), 0, Position(tiny_config())
    with torch.no_grad():
        for block in blocks:
            x = block(x, position)
            other += x.shape != (B, T, WIDTH)
    return Found(
        verdict(other == 0 and len(blocks) > len(PLACEMENTS) * len(FEEDFORWARDS)),
        "{blocks} blocks, one for each combination of variants, were put on top of each other as they are; "
        "{other} of them changed the shape {shape}.",
        {"blocks": len(blocks), "other": other, "shape": str((B, T, WIDTH))},
    )


def zeros_above() -> Found:
    """The weights of every layer and head, with each way of telling positions."""
    weights = torch.cat([attention_weights(tiny_model(position=kind), tiny_ids()) for kind in POSITIONS])
    above = weights.triu(diagonal=1).abs().max().item()
    off = apart(weights.sum(dim=-1), torch.ones(()))
    shaped = weights.shape[1:] == (B, H, T, T) and len(weights) == N * len(POSITIONS)
    return Found(
        verdict(above == 0.0 and off < EXACT and shaped),
        "A look inside returns weights of shape {shape} for each layer. Over {layers} layers, with {kinds} "
        "ways of telling positions, the largest above the diagonal is {above:g}, and rows are off from a "
        "sum of one by {off:.1g}.",
        {
            "shape": str(tuple(weights.shape[1:])),
            "layers": len(weights),
            "kinds": len(POSITIONS),
            "above": above,
            "off": off,
        },
    )


def placements() -> Found:
    """One set of weights in both blocks, at the sizes that the lesson names."""
    sizes = {"d_model": 384, "context": 16, "n_layers": 1}
    pre, post = (
        Transformer(tiny_config(**sizes, attention={"n_heads": HEADS}, norm={"placement": place})).double()
        for place in ("pre", "post")
    )
    post.load_state_dict(randomise(pre, scale=0.05).state_dict())
    x = torch.randn(2, 16, 384, dtype=torch.float64)
    before, behind = (model.blocks[0](x, Position(model.config)).detach() for model in (pre, post))
    difference = apart(before, behind)
    return Found(
        verdict(before.shape == behind.shape == x.shape and difference > EXACT),
        "With the same weights and input, of shape {shape} and for {heads} heads, the outputs differ by up "
        "to {difference:.2g}; their root mean squares are {pre:.2f} with pre-norm and {post:.2f} with "
        "post-norm.",
        {
            **{"shape": str(tuple(x.shape)), "heads": HEADS, "difference": difference},
            **{"pre": rms(before), "post": rms(behind)},
        },
    )


CLAIMS = (
    Claim("A1", "a block keeps the shape (B, T, D), so that blocks stack as they are", HOLDS, shapes),
    Claim(
        "A3", "attention weights (B, H, T, T) can be seen, exactly 0 above the diagonal", HOLDS, zeros_above
    ),
    Claim("A4", "pre- and post-norm blocks with equal weights give different outputs", HOLDS, placements),
)
