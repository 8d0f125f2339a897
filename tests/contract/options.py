"""Every field of a model's config with values to try, read from the fields themselves.

A new entry of a table, or a new field, is therefore tried without a word here. Only sizes that must fit
each other are named.
"""

import dataclasses
from collections.abc import Mapping
from itertools import combinations
from types import NoneType
from typing import Any, get_args, get_type_hints

from blockproof.model.config import ModelConfig
from blockproof.model.nested import with_values
from blockproof.model.schema import Config, ConfigError

Values = Mapping[str, Any]  # by dotted path
Pair = tuple[tuple[str, Any], tuple[str, Any]]  # two settings, each a path and a value

# The first is the default of all tests. A d_model of 32 is the least that SwiGLU is matched at; 3 heads
# go into 36 alone, 4 into both, as heads of even and of odd width.
SIZES: dict[str, tuple[Any, ...]] = {
    "vocab_size": (11, 13),
    "context": (7, 5),
    "d_model": (32, 36),
    "n_layers": (2, 1),
    "attention.n_heads": (1, 3, 4),
    "feedforward.width": (None, 40),
}


def options(kind: type[Config] = ModelConfig, path: str = "") -> dict[str, tuple[Any, ...]]:
    """The values of every field, by dotted path, the default first."""
    found: dict[str, tuple[Any, ...]] = {}
    hints = get_type_hints(kind)
    for each in dataclasses.fields(kind):
        here, hint = path + each.name, hints[each.name]
        if isinstance(hint, type) and issubclass(hint, Config):
            found |= options(hint, f"{here}.")
        else:
            found[here] = SIZES[here] if here in SIZES else _values(here, each, hint)
    return found


def _values(path: str, each: "dataclasses.Field[Any]", hint: Any) -> tuple[Any, ...]:
    """The default, None where it is allowed, and what its type and its range allow besides."""
    kinds = get_args(hint) or (hint,)
    first = () if each.default is dataclasses.MISSING else (each.default,)
    free = (None,) if NoneType in kinds else ()
    others = [value for value in _others(kinds[0], each.metadata) if value not in first]
    if kinds[0] is float and first:
        del others[1:]  # one besides the default will do
    values = tuple(dict.fromkeys((*first, *free, *others)))
    if len(values) < 2:
        raise TypeError(f"no values to try are known for {path}: give it some in SIZES")
    return values


def _others(kind: type, allowed: Mapping[str, Any]) -> tuple[Any, ...]:
    low, below = allowed.get("low") or 0, allowed.get("below")
    if "table" in allowed:
        return tuple(allowed["table"])
    if kind is bool:
        return (False, True)
    if kind is int:
        return (int(low), int(low) + 1)
    if kind is float:
        far = 1.0 if below is None else (below - low) / 2
        return (low + far, low + far / 2)
    return ()


OPTIONS = options()
DEFAULTS: dict[str, Any] = {path: values[0] for path, values in OPTIONS.items()}


def config_of(values: Values) -> ModelConfig:
    """The config with these values, all else at its default."""
    return ModelConfig.from_dict(with_values({}, {**DEFAULTS, **values}))


def accepted(values: Values) -> ModelConfig | None:
    """The same, or None where it is refused."""
    try:
        return config_of(values)
    except ConfigError:
        return None


def repaired(values: Values, most: int = 2) -> ModelConfig | None:
    """A config that holds these values, with as few others changed as it takes; None if ``most`` do not do."""
    others = [(path, value) for path, tried in OPTIONS.items() if path not in values for value in tried[1:]]
    for number in range(most + 1):
        for changes in combinations(others, number):
            if found := accepted({**values, **dict(changes)}):
                return found
    return None


def all_pairs() -> list[Pair]:
    """Every two values of two different fields."""
    return [((a, x), (b, y)) for a, b in combinations(OPTIONS, 2) for x in OPTIONS[a] for y in OPTIONS[b]]
