"""The configs under test hold what they promise to: what is in use, and every two values together."""

from typing import Any

import pytest

from blockproof.model.config import ModelConfig
from blockproof.model.nested import leaves
from blockproof.tests.contract.configs import CONFIGS, IN_USE, SAMPLE, pairs_of, shrunk
from blockproof.tests.contract.options import (
    DEFAULTS,
    OPTIONS,
    SIZES,
    accepted,
    all_pairs,
    config_of,
    repaired,
)

SIZED = {*SIZES, "attention.n_kv_heads"}


def test_every_field_has_values_to_try() -> None:
    fields = leaves(config_of({}).to_dict())
    assert OPTIONS.keys() == fields.keys()
    assert fields == DEFAULTS
    for path, values in OPTIONS.items():
        assert len(set(values)) == len(values) >= 2, path


@pytest.mark.parametrize("path", OPTIONS)
def test_every_value_occurs(path: str) -> None:
    """One that does not is refused in every config that was tried: give its needs a value in SIZES."""
    assert {leaves(config.to_dict())[path] for config in SAMPLE} == set(OPTIONS[path])


def test_what_goes_together_occurs_together() -> None:
    """Found anew for each pair: no config with two more fields changed holds one that is left out."""
    left = set(all_pairs()) - pairs_of(SAMPLE)
    assert [pair for pair in left if repaired(dict(pair))] == []


def test_a_pair_needs_no_library() -> None:
    """What the config accepts by itself is in the sample, however the sample was found."""
    sampled = [leaves(config.to_dict()) for config in SAMPLE]
    for (a, x), (b, y) in all_pairs():
        if accepted({a: x, b: y}):
            assert any(values[a] == x and values[b] == y for values in sampled), (a, x, b, y)


@pytest.mark.parametrize(
    ("wanted", "others"),
    [
        ({"norm.kind": "rmsnorm", "norm.bias": True}, None),
        ({"attention.kind": "none", "feedforward.kind": "none"}, None),
        ({"norm.eps": 1.0}, {}),
        ({"attention.n_kv_heads": 2}, {"attention.n_heads": 4}),
        ({"attention.n_heads": 3, "position": "rope"}, {"d_model": 36}),
        ({"d_model": 32, "n_layers": 1, "attention.n_heads": 3}, None),
    ],
)
def test_repairs(wanted: dict[str, Any], others: dict[str, Any] | None) -> None:
    config = repaired(wanted)
    assert config == (None if others is None else config_of({**wanted, **others}))


@pytest.mark.parametrize("config", IN_USE.values(), ids=IN_USE)
def test_small_models_keep_every_choice(config: ModelConfig) -> None:
    small = shrunk(config)
    assert small in CONFIGS.values()
    old, new = leaves(config.to_dict()), leaves(small.to_dict())
    for path in OPTIONS:
        if path in SIZED:
            assert (new[path] is None) == (old[path] is None)
        else:
            assert new[path] == old[path]
    assert kind_of_heads(small) == kind_of_heads(config)


def kind_of_heads(config: ModelConfig) -> tuple[bool, ...]:
    """One alone, a power of two, keys of one head, keys of all."""
    heads, shared = config.attention.n_heads, config.attention.kv_heads
    return heads == 1, heads.bit_count() == 1, shared == 1, shared == heads
