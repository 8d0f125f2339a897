"""What goes on inside, layer by layer, where a mean loss would hide it."""

import math
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from blockproof.model.labels import Batch
from blockproof.model.transformer import Transformer


def layers(model: Transformer) -> dict[str, nn.Module]:
    """The layers that are reported: embedding, blocks, final norm, in the data's order."""
    blocks = {f"block {i}": block for i, block in enumerate(model.blocks)}
    return {"embedding": model.token, **blocks, "final norm": model.norm}


def gradient_norms(model: Transformer) -> dict[str, float]:
    """The gradient's 2-norm over each layer's parameters, after a backward pass."""
    norms = {}
    for name, layer in layers(model).items():
        squares = [p.grad.square().sum() for p in layer.parameters() if p.grad is not None]
        norms[name] = sum(square.item() for square in squares) ** 0.5
    return norms


class ActivationMonitor(AbstractContextManager["ActivationMonitor"]):
    """While entered, measures what each layer put out in the last forward.

    Attributes:
        rms: root mean square over all elements.
        likeness: mean cosine between the tokens of a sequence; 1 when all have become the same.
    """

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self.rms: dict[str, float] = {}
        self.likeness: dict[str, float] = {}
        self._handles: list[RemovableHandle] = []

    def __enter__(self) -> "ActivationMonitor":
        for name, layer in layers(self.model).items():
            self._handles.append(layer.register_forward_hook(self._keeper(name)))
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _keeper(self, name: str) -> Any:
        def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            x = output.detach().double()  # in float32 a square overflows long before the loss does
            self.rms[name] = x.square().mean().sqrt().item()
            self.likeness[name] = mean_cosine(x)

        return keep


@torch.no_grad()
def first_not_finite(model: Transformer, batch: Batch) -> str:
    """Where infinity or NaN comes up first: a parameter, what a module puts out in a forward, or a gradient.

    Gradients flow from the loss back: of those that are not finite, the layer nearest to it is named. The
    forward draws its own dropout; torch's random state is left as it was.
    """
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            return f"the parameter {name}"
    outputs = _outputs_not_finite(model, batch)
    if outputs:
        return f"the output of {outputs[0]}"
    for name, norm in reversed(gradient_norms(model).items()):
        if not math.isfinite(norm):
            return f"the gradient of {name}"
    return "the gradients' norm"


def _outputs_not_finite(model: Transformer, batch: Batch) -> list[str]:
    """The modules whose output is not finite, in the order in which they finish."""
    found: list[str] = []

    def keeper(name: str) -> Any:
        def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            if not output.isfinite().all():
                found.append(name or "the model")

        return keep

    handles = [module.register_forward_hook(keeper(name)) for name, module in model.named_modules()]
    try:
        with torch.random.fork_rng():
            model(batch.inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


def mean_cosine(x: Tensor) -> float:
    """Mean cosine over all pairs of different tokens in a sequence, over sequences: x (B, T, D)."""
    T = x.shape[1]
    direction = nn.functional.normalize(x, dim=-1)
    pairs = direction.sum(dim=1).square().sum(dim=-1) - T  # ‖Σ u‖² = T + Σ over pairs u·u′
    return (pairs / max(1, T * (T - 1))).mean().item()
