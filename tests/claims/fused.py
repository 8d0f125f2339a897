"""Claims that two ways of computing are one: made at once or apart, once or again; and how long each takes."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from blockproof.model.attention import FusedHeads, SeparateHeads, future
from blockproof.model.position import Position
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, apart, times_as_long, verdict
from blockproof.tests.helpers import B, D, H, T, randomise, tiny_config

WIDE, NARROW, TOKENS = 384, 64, 256


def three_matrices() -> Found:
    """Queries, keys and values by one product, and by three with a third of its rows each."""
    qkv = randomise(FusedHeads(tiny_config())).double().qkv
    x = torch.randn(B, T, D, dtype=torch.float64, requires_grad=True)
    at_once = qkv(x).split(D, dim=-1)
    pieces = zip(qkv.weight.split(D), qkv.bias.split(D), strict=True)
    by_three = [F.linear(x, weight, bias) for weight, bias in pieces]
    difference = max(apart(a, b) for a, b in zip(at_once, by_three, strict=True))
    direction = torch.randn(3, B, T, D, dtype=torch.float64)
    gradients = [
        torch.autograd.grad((torch.stack(list(each)) * direction).sum(), x)[0] for each in (at_once, by_three)
    ]
    return Found(
        verdict(difference < EXACT and apart(*gradients) < EXACT),
        "Queries, keys and values differ by at most {difference:.1g}, gradients by {gradient:.1g}. As for "
        "the time of forward and backward, on one thread here: three take {wide:.2f} times as long at width "
        "{at_wide}, {narrow:.2f} times at width {at_narrow}.",
        {
            "difference": difference,
            "gradient": apart(*gradients),
            "wide": three_to_one(WIDE),
            "at_wide": WIDE,
            "narrow": three_to_one(NARROW),
            "at_narrow": NARROW,
        },
    )


def three_to_one(width: int) -> float:
    """The time of three projections over that of the fused one, for 4 sequences of 64 tokens."""
    x = torch.randn(4, 64, width, requires_grad=True)
    weight = torch.randn(3 * width, width, requires_grad=True)
    parts = [each.detach().requires_grad_() for each in weight.split(width)]

    def at_once() -> None:
        torch.stack(F.linear(x, weight).split(width, dim=-1)).sum().backward()

    def by_three() -> None:
        torch.stack([F.linear(x, each) for each in parts]).sum().backward()

    return times_as_long(by_three, at_once)


def mask_made_once() -> Found:
    """The kernel with a mask that is kept, with one made anew, and with its own flag."""
    q, k, v = (torch.randn(B, H, T, 4, dtype=torch.float64) for _ in range(3))
    outputs = [way() for way in masked(q, k, v)]
    difference = max(apart(outputs[0], other) for other in outputs[1:])
    kept, anew, flag = masked(*(torch.randn(4, 4, TOKENS, 16) for _ in range(3)))
    return Found(
        verdict(difference < EXACT),
        "Outputs with a mask that is kept, one made anew and the kernel's own flag differ by at most "
        "{difference:.1g}. As for the time of a forward, on one thread here, for {tokens} tokens: making "
        "the mask at every call takes {anew:.2f} times as long as keeping it, and keeping it {flag:.2f} "
        "times as long as the flag.",
        {
            "difference": difference,
            "tokens": TOKENS,
            "anew": times_as_long(anew, kept),
            "flag": times_as_long(kept, flag),
        },
    )


def masked(q: Tensor, k: Tensor, v: Tensor) -> tuple[Callable[[], Tensor], ...]:
    """Causal attention in three ways; in a mask of the kernel, true means that a key is seen."""
    places = torch.arange(q.shape[2])
    mask = ~future(places, places)
    return (
        lambda: F.scaled_dot_product_attention(q, k, v, mask),
        lambda: F.scaled_dot_product_attention(q, k, v, ~future(places, places)),
        lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    )


def separate_heads() -> Found:
    """A small matrix for each head and role, cut out of the fused one."""
    fused = randomise(FusedHeads(tiny_config())).double()
    separate = SeparateHeads(tiny_config(attention={"kind": "separate"})).double()
    heads = [*separate.query, *separate.key, *separate.value]
    with torch.no_grad():
        for head, weight, bias in zip(
            heads, fused.qkv.weight.split(D // H), fused.qkv.bias.split(D // H), strict=True
        ):
            head.weight.copy_(weight)
            head.bias.copy_(bias)
    separate.output.load_state_dict(fused.output.state_dict())
    x, nowhere = torch.randn(B, T, D, dtype=torch.float64, requires_grad=True), Position(tiny_config())
    outputs = [module(x, nowhere) for module in (separate, fused)]
    direction = torch.randn(B, T, D, dtype=torch.float64)
    gradients = [torch.autograd.grad((each * direction).sum(), x)[0] for each in outputs]
    sizes = [sum(p.numel() for p in module.parameters()) for module in (separate, fused)]
    return Found(
        verdict(apart(*outputs) < EXACT and apart(*gradients) < EXACT and sizes[0] == sizes[1]),
        "{heads} heads made one by one, put side by side and projected, differ from the fused form by at "
        "most {difference:.1g}, in their gradients by {gradient:.1g}, in parameters by {more}.",
        {
            "heads": H,
            "difference": apart(*outputs),
            "gradient": apart(*gradients),
            "more": sizes[0] - sizes[1],
        },
    )


CLAIMS = (
    Claim("A5", "one projection for queries, keys and values does what three do", HOLDS, three_matrices),
    Claim("A6", "a causal mask made once does what one made at every call does", HOLDS, mask_made_once),
    Claim("B1", "heads made one by one equal the fused form", HOLDS, separate_heads),
)
