"""Nested plain data, such as a config's, addressed by dotted paths."""

from collections.abc import Mapping
from typing import Any


def with_values(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested plain data with the values at some dotted paths set, such as ``{"norm.eps": 1e-6}``."""
    copy = {
        key: with_values(value, {}) if isinstance(value, Mapping) else value for key, value in data.items()
    }
    for path, value in changes.items():
        *parents, name = path.split(".")
        place = copy
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = value
    return copy


def leaves(data: Mapping[str, Any], separator: str = ".") -> dict[str, Any]:
    """Nested plain data as one flat mapping, by joined path."""
    flat: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}{separator}{key}": leaf for key, leaf in leaves(value, separator).items()}
        else:
            flat[name] = value
    return flat
