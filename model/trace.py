"""A look inside one forward pass: its stages with their shapes, and its attention weights."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from blockproof.model.attention import CausalSelfAttention
from blockproof.model.transformer import Transformer


@dataclass(frozen=True)
class Stage:
    """One module that a forward pass went through.

    Attributes:
        name: its path in the model.
        kind: its class.
        shape: of what it put out.
        parameters: how many it has, parts included.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    parameters: int


def stages(model: Transformer, ids: Tensor) -> list[Stage]:
    """Every module that ran on ids (B, T), in the order in which it finished."""
    seen: list[Stage] = []

    def keep(name: str, module: nn.Module) -> None:
        def hook(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            size = sum(parameter.numel() for parameter in module.parameters())
            seen.append(Stage(name, type(module).__name__, tuple(output.shape), size))

        handles.append(module.register_forward_hook(hook))

    handles: list[torch.utils.hooks.RemovableHandle] = []
    for name, module in model.named_modules():
        keep(name or "model", module)
    try:
        with torch.no_grad():
            model(ids)
    finally:
        for handle in handles:
            handle.remove()
    return seen


def attention_weights(model: Transformer, ids: Tensor) -> Tensor:
    """The weights of every layer and head on ids (B, T), by the explicit path: (N, B, H, T, T)."""
    weights: list[Tensor] = []

    def hook(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        assert isinstance(module, CausalSelfAttention)
        weights.append(module.explicit(*inputs)[1])

    layers = [module for module in model.modules() if isinstance(module, CausalSelfAttention)]
    handles = [layer.register_forward_hook(hook) for layer in layers]
    try:
        with torch.no_grad():
            model(ids)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(weights)
