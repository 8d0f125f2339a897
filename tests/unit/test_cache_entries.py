"""What a cache keeps, and that it alone keeps it."""

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from blockproof.model.attention import CausalSelfAttention
from blockproof.model.cache import Cache, Past
from blockproof.model.count import cost, count
from blockproof.model.position import POSITIONS
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import B, T, copies, same, tiny_config, tiny_ids, tiny_model


def test_new_entries_stand_behind_the_old_ones() -> None:
    past, keys, values = Past(), torch.randn(B, 2, T, 4), torch.randn(B, 2, T, 4)
    assert past.length == 0
    for begin, end in pairwise([0, 2, 3, T]):
        seen = past.append(keys[:, :, begin:end], values[:, :, begin:end])
        assert past.length == end
        assert torch.equal(seen[0], keys[:, :, :end])
        assert torch.equal(seen[1], values[:, :, :end])


@pytest.mark.parametrize("n_kv_heads", [None, 1, 2])
def test_holds_the_heads_of_keys_and_values_and_no_more(n_kv_heads: int | None) -> None:
    """As many bytes as the count of a config tells; in the model's own precision."""
    config = tiny_config(position="rope", d_model=24, attention={"n_heads": 6, "n_kv_heads": n_kv_heads})
    cache = Cache(config)
    Transformer(config)(tiny_ids(1), cache)
    kept = [part for past in cache.layers for part in (past.keys, past.values) if part is not None]
    assert {tuple(part.shape) for part in kept} == {(1, n_kv_heads or 6, T, 4)}
    assert sum(part.numel() * part.element_size() for part in kept) == cost(count(config)).cache
    half = Cache(config)
    Transformer(config).bfloat16()(tiny_ids(1), half)
    assert half.layers[0].keys is not None
    assert half.layers[0].keys.dtype == torch.bfloat16


def test_keys_are_kept_as_they_are_turned() -> None:
    """At their own places, once and for all."""
    model, ids, cache = tiny_model(position="rope", n_layers=1), tiny_ids(), Cache(tiny_config(n_layers=1))
    (inner,) = (part for part in model.modules() if isinstance(part, CausalSelfAttention))
    seen: list[Tensor] = []
    inner.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0]))
    model(ids)
    keys = model.position.rotate(inner.heads(seen[0])[1], torch.arange(T))
    for piece in ids.split([3, 1, T - 4], dim=1):
        model(piece, cache)
    assert cache.layers[0].keys is not None
    torch.testing.assert_close(cache.layers[0].keys, keys, rtol=0, atol=1e-13)


@pytest.mark.parametrize("position", POSITIONS)
def test_nothing_is_left_in_the_model(position: str) -> None:
    """Two texts decoded by turns, each with its cache, are what they are alone, to the bit."""
    model, ids, other = tiny_model(position=position), tiny_ids(), tiny_ids(2)
    before, held = copies(model), attributes(model)
    alone = [one_by_one(model, each) for each in (ids, other)]
    caches = [Cache(model.config) for _ in alone]
    steps = [
        [model(each[:, [t]], cache) for each, cache in zip((ids, other), caches, strict=True)]
        for t in range(T)
    ]
    for expected, by_turns in zip(alone, zip(*steps, strict=True), strict=True):
        assert torch.equal(torch.cat(by_turns, dim=1), expected)
    assert same(copies(model), before)
    assert attributes(model) == held


def one_by_one(model: Transformer, ids: Tensor) -> Tensor:
    cache = Cache(model.config)
    return torch.cat([model(ids[:, [t]], cache) for t in range(T)], dim=1)


def attributes(model: Transformer) -> list[tuple[list[str], list[str]]]:
    """The names of all that every module holds, and of its buffers."""
    return [(sorted(vars(part)), [name for name, _ in part.named_buffers()]) for part in model.modules()]
