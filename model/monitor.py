"""What goes on inside, layer by layer, where a mean loss would hide it."""

from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

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


def mean_cosine(x: Tensor) -> float:
    """Mean cosine over all pairs of different tokens in a sequence, over sequences: x (B, T, D)."""
    T = x.shape[1]
    direction = nn.functional.normalize(x, dim=-1)
    pairs = direction.sum(dim=1).square().sum(dim=-1) - T  # ‖Σ u‖² = T + Σ over pairs u·u′
    return (pairs / max(1, T * (T - 1))).mean().item()
