"""Claims about the whole: the order of its stages, and the same model once more in NumPy."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from blockproof.model import labels
from blockproof.model.residual import PLACEMENTS
from blockproof.model.trace import stages
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import apart, verdict
from blockproof.tests.helpers import B, D, N, T, V, tiny_ids, tiny_model
from blockproof.tests.oracle.transformer import transformer
from blockproof.tests.oracle.weights import Array, Weights, weights_of

PRE = "each sub-layer has its one norm before it"
SUBLAYER = ("norm", "sublayer", "residual")
CLOSE, STEP, SLOPES = 1e-11, 1e-5, 1e-7
FORMS: dict[str, dict[str, Any]] = {
    "GPT": {},
    "original": {"norm": {"placement": "post"}, "position": "sinusoidal", "feedforward": {"kind": "relu"}},
    "LLaMA": {
        "position": "rope",
        "tied": False,
        "attention": {"n_kv_heads": 1, "qkv_bias": False, "output_bias": False},
        "feedforward": {"kind": "swiglu", "width": 2 * D, "bias": False},
        "norm": {"kind": "rmsnorm"},
    },
}


def order(placement: str) -> tuple[list[str], set[tuple[int, ...]], tuple[int, ...]]:
    """The stages that ran, in order; the shapes of all but the last; the last one's."""
    model = tiny_model(norm={"placement": placement})
    seen = [
        stage
        for stage in stages(model, tiny_ids())
        if stage.name in ("token", "position", "norm", "model")
        or (stage.name.startswith("blocks.") and stage.name.count(".") == 3)
    ]
    return [stage.name for stage in seen], {stage.shape for stage in seen[:-1]}, seen[-1].shape


def in_order() -> Found:
    """Embedding, position, norm, attention, residual, norm, feed-forward, residual …, norm, head."""
    parts = [f"{part}.{stage}" for part in ("attention", "feedforward") for stage in SUBLAYER]
    expected = [
        "token",
        "position",
        *(f"blocks.{i}.{part}" for i in range(N) for part in parts),
        "norm",
        "model",
    ]
    found = {placement: order(placement) for placement in PLACEMENTS}
    shaped = all(shapes == {(B, T, D)} and last == (B, T, V) for _, shapes, last in found.values())
    as_told = [placement for placement, (names, _, _) in found.items() if names == expected]
    return Found(
        verdict(shaped and len(as_told) == len(PLACEMENTS), PRE, shaped and as_told == ["pre"]),
        "{stages} stages run in this order with pre-norm, {as_told} of {placements} placements of the norm. "
        "All put out {stream} but the last, whose logits are {logits}.",
        {
            **{"stages": len(expected), "as_told": len(as_told), "placements": len(PLACEMENTS)},
            **{"stream": str((B, T, D)), "logits": str((B, T, V))},
        },
    )


def forward() -> Found:
    """Three forms of the model, from ids to logits."""
    ids, off = tiny_ids(), {}
    for name, fields in FORMS.items():
        model = tiny_model(**fields)
        by_hand = torch.from_numpy(transformer(ids.numpy(), weights_of(model), model.config.to_dict()))
        off[name] = apart(model(ids), by_hand)
    return Found(
        verdict(max(off.values()) < CLOSE),
        "In double precision the logits of NumPy's loops and of the model differ by at most {gpt:.1g} in "
        "the form of GPT, {original:.1g} in that of the original paper, {llama:.1g} in that of LLaMA.",
        {name.lower(): value for name, value in off.items()},
    )


def loss_in_numpy(ids: Tensor, weights: Weights, config: dict[str, Any]) -> float:
    """The mean loss of the next token, from the logits in NumPy."""
    logits = transformer(ids[:, :-1].numpy(), weights, config)
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return float(-np.take_along_axis(log_p, ids[:, 1:, None].numpy(), axis=-1).mean())


def slope_in_numpy(ids: Tensor, weights: Weights, config: dict[str, Any], at: tuple[str, int]) -> float:
    """How the loss changes with one element of one parameter: a central difference."""
    name, element = at
    losses = []
    for step in (STEP, -STEP):
        moved: Array = weights[name].copy()
        moved.flat[element] += step
        losses.append(loss_in_numpy(ids, {**weights, name: moved}, config))
    return (losses[0] - losses[1]) / (2 * STEP)


def backward() -> Found:
    """One element, the one with the largest gradient, of every parameter."""
    model, ids = tiny_model(n_layers=1), tiny_ids(batch=2)
    inputs, targets = labels.shift(ids)
    labels.cross_entropy(model(inputs), targets).backward()
    weights, config = weights_of(model), model.config.to_dict()
    off, largest = [], []
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        gradient = parameter.grad.flatten()
        element = int(gradient.abs().argmax())
        largest.append(abs(gradient[element].item()))
        off.append(abs(slope_in_numpy(ids, weights, config, (name, element)) - gradient[element].item()))
    return Found(
        verdict(max(off) < SLOPES < max(largest)),
        "For the largest element of each of {parameters} gradients, {low:.2g} to {high:.2g}, "
        "backpropagation and differences of NumPy's loss are apart by at most {off:.1g}.",
        {"parameters": len(off), "low": min(largest), "high": max(largest), "off": max(off)},
    )


CLAIMS = (
    Claim(
        "D4",
        "stages: embedding, position, [norm, attention, residual, norm, feed-forward, residual] × N, norm, head",
        f"holds when {PRE}",
        in_order,
    ),
    Claim("D5", "the model written again in NumPy gives the same logits", HOLDS, forward),
    Claim("D5, gradients", "the model written again in NumPy gives the same gradients", HOLDS, backward),
)
