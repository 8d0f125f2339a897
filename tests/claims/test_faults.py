"""A small fault in the model turns the claims that are about it: no verdict is a matter of form."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model import attention, feedforward, labels, position, residual, transformer
from blockproof.model.norm import LayerNorm, RMSNorm
from blockproof.tests.claims.table import CLAIMS

BY_ID = {claim.id: claim for claim in CLAIMS}
kernel = F.scaled_dot_product_attention


def kernel_with(**changed: Any) -> Callable[..., Tensor]:
    """The fused kernel, some of its arguments fixed."""
    return lambda *given, **usual: kernel(*given[:4], **usual | changed)


def scaled_by_model(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, **usual: Any) -> Tensor:
    """Divides scores by the root of the width of all heads together."""
    return kernel(q, k, v, mask, **{"scale": (q.shape[1] * q.shape[-1]) ** -0.5} | usual)


def unbiased(norm: LayerNorm, x: Tensor) -> Tensor:
    """The variance divided by D - 1."""
    spread = (x.var(dim=-1, keepdim=True) + norm.eps).sqrt()
    return (x - x.mean(dim=-1, keepdim=True)) / spread * norm.weight + norm.bias


def eps_outside(norm: RMSNorm, x: Tensor) -> Tensor:
    """Added to the root, not under it."""
    return x / (x.square().mean(dim=-1, keepdim=True).sqrt() + norm.eps) * norm.weight


def by_squares(self: position.RotaryPosition, heads: Tensor, places: Tensor) -> Tensor:
    """Turns by the square of the place."""
    angles = position._angles(places**2, heads.shape[-1])
    first, second = heads.chunk(2, dim=-1)
    return torch.cat(
        [first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()], -1
    )


FAULTS: dict[str, tuple[object, str, object, tuple[str, ...]]] = {
    "no mask": (
        F,
        "scaled_dot_product_attention",
        kernel_with(is_causal=False),
        ("A2, mask alone", "B12", "D5"),
    ),
    "mask off by one": (
        attention,
        "future",
        lambda queries, keys: keys > queries[:, None] + 1,
        ("A3", "B2"),
    ),
    "scale of the model": (F, "scaled_dot_product_attention", scaled_by_model, ("B2", "D5")),
    "dropout always on": (F, "scaled_dot_product_attention", kernel_with(dropout_p=0.5), ("C2",)),
    "unbiased variance": (LayerNorm, "forward", unbiased, ("A8", "D5")),
    "eps outside": (RMSNorm, "forward", eps_outside, ("A9", "D5")),
    "norm over time": (
        LayerNorm,
        "forward",
        lambda norm, x: x - x.mean(1, keepdim=True),
        ("A2, mask alone", "B6, alone"),
    ),
    "norm over the batch": (
        LayerNorm,
        "forward",
        lambda norm, x: x - x.mean(0, keepdim=True),
        ("A2, mask alone", "B6, alone", "C7"),
    ),
    "no shift": (labels, "shift", lambda tokens: labels.Batch(tokens[:, :-1], tokens[:, :-1]), ("C1",)),
    "ignored labels counted": (
        labels,
        "cross_entropy",
        lambda z, t: F.cross_entropy(z.flatten(0, 1), t.flatten(), reduction="sum") / t.numel(),
        ("C6",),
    ),
    "length not checked": (transformer, "check_ids", lambda *given: None, ("C3",)),
    "half a residual": (
        residual.AddResidual,
        "forward",
        lambda self, x, branch: x / 2 + branch,
        ("B5", "D5"),
    ),
    "placement ignored": (residual.PostNorm, "forward", residual.PreNorm.forward, ("A4", "D4", "D5")),
    "narrow feed-forward": (
        feedforward.FeedForward,
        "default_width",
        classmethod(lambda cls, d_model, bias: 3 * d_model),
        ("B4", "C5"),
    ),
    "positions not turned by distance": (position.RotaryPosition, "rotate", by_squares, ("C12, RoPE",)),
    "bias not added": (position.ALiBiPosition, "bias", lambda self, queries, keys: None, ("C12, bias",)),
    "dropout at inference": (nn.Dropout, "forward", lambda self, x: x * (1 - self.p), ("B7",)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_turns_the_verdict(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, broken, ids = FAULTS[fault]
    monkeypatch.setattr(owner, name, broken)
    turned = {claim: BY_ID[claim].measure().verdict for claim in ids}
    assert all(verdict != BY_ID[claim].finding for claim, verdict in turned.items()), turned
