"""A model made ready to show its faults: dropout set, and every parameter moved from where it starts."""

import torch
from torch import nn

RATES = ("p", "prob", "rate")  # names of a rate, in a class whose name says what it is the rate of


def set_dropout(module: nn.Module, rate: float) -> int:
    """Set every dropout rate of the module: of its dropout layers, and attributes that are called so.

    Returns:
        How many were set.
    """
    found = rates(module)
    for part, name in found:
        setattr(part, name, rate)
    return len(found)


def rates(module: nn.Module) -> list[tuple[nn.Module, str]]:
    """Every module that holds a dropout rate, with the attribute's name."""
    return [(part, name) for part in module.modules() for name in vars(part) if _is_rate(part, name)]


def _is_rate(part: nn.Module, name: str) -> bool:
    value = vars(part)[name]
    layer = name in RATES and "drop" in type(part).__name__.lower()
    told = layer or ("drop" in name.lower() if isinstance(value, float) else "dropout" in name)
    return told and isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1


@torch.no_grad()
def disturb(module: nn.Module) -> None:
    """Move every trained parameter: gates that start at 0, gains at 1 and zero biases hide faults."""
    generator = torch.Generator().manual_seed(0)
    for parameter in module.parameters():
        if parameter.requires_grad and parameter.is_floating_point():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            spread = parameter.double().std() if parameter.numel() > 1 else 0.0
            parameter.add_(((0.05 + 0.3 * spread) * noise).to(parameter))
