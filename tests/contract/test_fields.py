"""Every field matters: another value is refused, or it shows. An option that changes nothing misleads."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any
from zlib import crc32

import pytest
import torch
from torch import Generator, Tensor

from blockproof.model.config import ModelConfig
from blockproof.model.nested import leaves, with_values
from blockproof.model.schema import ConfigError
from blockproof.model.transformer import InputError, Transformer
from blockproof.tests.contract.configs import CONFIGS
from blockproof.tests.contract.options import OPTIONS
from blockproof.tests.helpers import copies, same

SEEN = (
    1e-9  # of logits in float64 near 10: rounding is near 1e-14, and the least that an option does near 1e-4
)

Equal = Callable[[ModelConfig, ModelConfig], bool]


def both(path: str, *values: Any) -> Equal:
    """The two configs hold these two values, in either order."""
    return lambda a, b: {leaves(each.to_dict())[path] for each in (a, b)} == set(values)


def _same_heads(a: ModelConfig, b: ModelConfig) -> bool:
    return a.attention.kv_heads == b.attention.kv_heads and a.attention.n_heads == b.attention.n_heads


# Changes that are known to change nothing, exactly, and why. Each must indeed change nothing.
EQUAL: dict[str, Equal] = {
    "LayerNorm has a shift unless told otherwise": lambda a, b: (
        a.norm.kind == "layernorm" and both("norm.bias", None, True)(a, b)
    ),
    "RMSNorm has no shift, told so or not": lambda a, b: (
        a.norm.kind == "rmsnorm" and both("norm.bias", None, False)(a, b)
    ),
    "without their own number, keys have as many heads as queries": lambda a, b: (
        None in (a.attention.n_kv_heads, b.attention.n_kv_heads)
        and a.attention.n_kv_heads != b.attention.n_kv_heads
        and _same_heads(a, b)
    ),
    "the inits differ in queries and keys, and there are none": lambda a, b: (
        a.attention.kind == "none" and both("init", "xavier", "xiong")(a, b)
    ),
}


def changes(config: ModelConfig) -> dict[str, ModelConfig]:
    """Every config that is accepted and differs in one field, by what the change is."""
    found, old = {}, leaves(config.to_dict())
    for path, values in OPTIONS.items():
        for value in values:
            if value != old[path]:
                try:
                    new = ModelConfig.from_dict(with_values(config.to_dict(), {path: value}))
                except ConfigError:
                    continue
                found[f"{path}: {old[path]} -> {value}"] = new
    return found


def told_apart(a: ModelConfig, b: ModelConfig) -> bool:
    """Whether two configs make models that differ: in their parameters, as these are drawn, or in the answers."""
    (drawn, _), (redrawn, _) = built(a), built(b)
    if not same(drawn, redrawn):  # names, shapes and values
        return True
    length = max(a.context, b.context)
    one, other = answer(a, length), answer(b, length)
    if one is None or other is None:
        return (one is None) != (other is None)
    return bool((one - other).abs().max() > SEEN)


@lru_cache(maxsize=2)  # keeps the config that all changes start from
def built(config: ModelConfig) -> tuple[dict[str, Tensor], Transformer]:
    """The parameters as drawn, and a model to answer with."""
    torch.manual_seed(0)
    model = Transformer(config)
    return copies(model), model.double().train()


@lru_cache(maxsize=2)
@torch.no_grad()
def answer(config: ModelConfig, length: int) -> Tensor | None:
    """Logits in training, dropout from one seed, by weights that names decide; None if the ids are refused."""
    _, model = built(config)
    for name, parameter in model.named_parameters():
        stream = Generator().manual_seed(crc32(name.encode()))
        centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        parameter.normal_(centre, 0.3, generator=stream)
    torch.manual_seed(0)
    ids = torch.randint(config.vocab_size, (2, length))
    try:
        return model(ids)
    except InputError:
        return None


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_no_option_changes_nothing(config: ModelConfig) -> None:
    changed = changes(config)
    idle = {change for change, new in changed.items() if not told_apart(config, new)}
    known = {change for change, new in changed.items() if any(equal(config, new) for equal in EQUAL.values())}
    assert idle == known


@pytest.mark.parametrize("reason", EQUAL)
def test_no_excuse_is_idle(reason: str) -> None:
    """An equality that no config shows any longer must go."""
    assert any(EQUAL[reason](config, new) for config in CONFIGS.values() for new in changes(config).values())
