"""Claims about residuals: their derivative, and what it is in a deep stack as built."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from blockproof.model.transformer import Transformer
from blockproof.tests.claims.claim import FAILS, HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, apart, verdict
from blockproof.tests.helpers import merged, randomise, tiny_config

D, T, DEEP = 32, 4, 16
INITS = ("gpt2", "xavier", "torch")
BEFORE = "the norm stands on the branch"


def stack(n_layers: int, **fields: Any) -> Transformer:
    """Without positions, so that it may be given vectors."""
    usual = {
        "d_model": D,
        "context": T,
        "n_layers": n_layers,
        "position": "none",
        "attention": {"n_heads": 4},
    }
    return Transformer(tiny_config(**merged(usual, fields))).double().eval()


def jacobian(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Of a map of x (T, D), as a matrix."""
    found: Tensor = torch.autograd.functional.jacobian(f, x, vectorize=True)
    return found.reshape(x.numel(), x.numel())


def attended(model: Transformer, x: Tensor) -> Tensor:
    """Behind the first block's attention, with what goes with it: x (T, D) -> (T, D)."""
    return model.get_submodule("blocks.0.attention")(x[None], model.position)[0]


def derivative() -> Found:
    """A block of one sub-layer, with its residual and without, at the same weights."""
    off = []
    for place in ("pre", "none"):
        bare = randomise(stack(1, norm={"placement": place}, residual={"kind": "none"}))
        joined = stack(1, norm={"placement": place})
        joined.load_state_dict(bare.state_dict())
        x = torch.randn(T, D, dtype=torch.float64)
        with_it, without = (jacobian(partial(attended, model), x) for model in (joined, bare))
        off.append(apart(with_it - without, torch.eye(T * D, dtype=torch.float64)))
    return Found(
        verdict(max(off) < EXACT),
        "The Jacobian of an attention sub-layer with its residual, less that without, is the identity up to "
        "{off:.1g} ({size} rows).",
        {"off": max(off), "size": T * D},
    )


def cancelled() -> Found:
    """f(x) = -x, beside an f that is small."""
    x = torch.randn(T, D, dtype=torch.float64, requires_grad=True)
    (opposed,), (small,) = (
        torch.autograd.grad((x + slope * x).sum(), x) for slope in (-1.0, -0.1)
    )  # fmt: skip
    return Found(
        verdict(opposed.abs().min().item() > 0.0),
        "Behind x + f(x), f(x) = -x, the gradient is {opposed:g}; with a tenth of that f it is {small:.1f}.",
        {"opposed": opposed.abs().max().item(), "small": small.abs().max().item()},
    )


@cache
def typical(init: str, placement: str, residual: str) -> tuple[float, float]:
    """The median and the largest singular value of a deep stack's Jacobian, as built."""
    torch.manual_seed(0)
    model = stack(DEEP, init=init, norm={"placement": placement}, residual={"kind": residual})

    def forward(x: Tensor) -> Tensor:
        x = x[None]
        for block in model.blocks:
            x = block(x, model.position)
        return x[0]

    values = torch.linalg.svdvals(jacobian(forward, torch.randn(T, D, dtype=torch.float64)))
    return values.median().item(), values.max().item()


def spectrum() -> Found:
    """Median singular values over three inits, by the norm's placement, with residuals and without."""
    medians = {
        (place, kind): [typical(init, place, kind)[0] for init in INITS]
        for place in ("pre", "post")
        for kind in ("add", "none")
    }
    largest = [typical(init, place, "none")[1] for init in INITS for place in ("pre", "post")]
    kept = {key: all(0.5 < value < 2 for value in each) for key, each in medians.items()}
    pre = kept["pre", "add"]
    return Found(
        verdict(pre and kept["post", "add"], BEFORE, pre and not kept["pre", "none"]),
        "In {layers} layers as built, with {inits} inits, the median singular value of the Jacobian is "
        "{pre_low:.2f} to {pre_high:.2f} with pre-norm and {post_low:.1g} to {post_high:.2g} with "
        "post-norm. Without residuals it is {bare:.1g} at most; the largest one is {least:.1g} to "
        "{largest:.0f} then, by init and placement.",
        {
            **{"layers": DEEP, "inits": len(INITS)},
            **{"pre_low": min(medians["pre", "add"]), "pre_high": max(medians["pre", "add"])},
            **{"post_low": min(medians["post", "add"]), "post_high": max(medians["post", "add"])},
            "bare": max(max(medians[place, "none"]) for place in ("pre", "post")),
            **{"least": min(largest), "largest": max(largest)},
        },
    )


CLAIMS = (
    Claim("B5", "the derivative of x + f(x) is 1 + f'(x)", HOLDS, derivative),
    Claim("B5, never", "the gradient behind a residual cannot vanish", FAILS, cancelled),
    Claim(
        "B5, as built",
        "at init, residuals keep the gradient's typical size through a deep stack",
        f"holds when {BEFORE}",
        spectrum,
    ),
)
