"""Small models with sizes that cannot be mistaken for each other, and ways to disturb them."""

from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from blockproof.model.config import ModelConfig
from blockproof.model.nested import leaves, with_values
from blockproof.model.source import Source, make_source
from blockproof.model.train_config import TrainConfig
from blockproof.model.transformer import Transformer

M = TypeVar("M", bound=nn.Module)

# B, T, V, D, H, d_head and N pairwise different: a swapped axis changes a shape or a value.
B, T, V, D, H, N = 5, 7, 11, 12, 3, 2

SYMBOLS = 4  # of the tiny source: context 5, vocabulary 8


def tiny_config(**overrides: Any) -> ModelConfig:
    """The sizes above, with any field replaced; of a part, only the fields given."""
    base: dict[str, Any] = {"vocab_size": V, "context": T, "d_model": D, "n_layers": N}
    if overrides.get("attention", {}).get("kind") != "none":
        base["attention"] = {"n_heads": H}
    return ModelConfig.from_dict(with_values(base, leaves(overrides)))


def merged(*fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of a model, later ones over earlier ones, part by part."""
    result: dict[str, Any] = {}
    for each in fields:
        result = with_values(result, leaves(each))
    return result


def dropping(rate: float = 0.5, **fields: Any) -> dict[str, Any]:
    """Fields of a model with dropout at its two usual places, as far as it has them."""
    places = [part for part in ("attention", "feedforward") if fields.get(part, {}).get("kind") != "none"]
    return merged({part: {"dropout": rate} for part in places}, fields)


def without_biases() -> dict[str, Any]:
    """Fields of a model whose linear layers have no bias."""
    return {"attention": {"qkv_bias": False, "output_bias": False}, "feedforward": {"bias": False}}


def tiny_model(scale: float = 0.3, dtype: torch.dtype = torch.float64, **overrides: Any) -> Transformer:
    """A model in eval mode with all parameters random."""
    return randomise(Transformer(tiny_config(**overrides)), scale).to(dtype).eval()


def randomise(model: M, scale: float = 0.3) -> M:
    """Draw every parameter, also gains and shifts: as built, half of them are 0 or 1 and hide faults."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            parameter.normal_(centre, scale)
    return model


def tiny_ids(batch: int = B, length: int = T, vocab_size: int = V) -> Tensor:
    """Random ids (B, T)."""
    return torch.randint(vocab_size, (batch, length))


def tiny_source(**overrides: Any) -> Source:
    """The order task with ``SYMBOLS`` symbols."""
    values: dict[str, Any] = {
        "source": "order",
        "symbols": SYMBOLS,
        "asked": 3,
        "validation_windows": 10,
    } | overrides
    return make_source(values, values["symbols"] + 1)


def tiny_learner(**overrides: Any) -> Transformer:
    """A model for ``tiny_source``, initialised as usual."""
    return Transformer(tiny_config(vocab_size=2 * SYMBOLS, context=SYMBOLS + 1, **overrides))


def tiny_training(**overrides: Any) -> TrainConfig:
    """A few steps, every one of them logged."""
    return TrainConfig(
        **{"steps": 4, "batch_size": 6, "lr": 1e-2, "log_every": 1, "eval_every": 2} | overrides
    )


def copies(model: nn.Module) -> dict[str, Tensor]:
    """Parameters by name, detached from what happens to them later."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def gradients(model: nn.Module) -> dict[str, Tensor]:
    """Gradients by name, detached likewise; every parameter must have one."""
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    kept = {name: gradient.clone() for name, gradient in found.items() if gradient is not None}
    assert kept.keys() == found.keys()
    return kept


def parameter(model: nn.Module, name: str) -> nn.Parameter:
    """The parameter of that name, which must exist."""
    return dict(model.named_parameters())[name]


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    """Whether two models' ``copies`` are equal to the bit."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
