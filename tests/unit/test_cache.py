"""A cache of keys and values changes nothing but the work: every step gives what the whole forward gives."""

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from blockproof.model.attention import ATTENTIONS
from blockproof.model.cache import Cache, Past
from blockproof.model.config import ModelConfig
from blockproof.model.position import POSITIONS
from blockproof.model.transformer import InputError, Transformer
from blockproof.tests.contract.configs import CONFIGS
from blockproof.tests.helpers import B, D, H, T, V, randomise, tiny_config, tiny_ids, tiny_model

KINDS = [kind for kind in ATTENTIONS if kind != "none"]
each_position = pytest.mark.parametrize("position", POSITIONS)


def decoded(model: Transformer, ids: Tensor, sizes: list[int], cache: Cache | None = None) -> Tensor:
    """Logits (B, T, V) of ids (B, T) in pieces of these sizes; what is left is the last piece."""
    cache = cache or Cache(model.config)
    parts, start = [], cache.length
    ends = [sum(sizes[:n]) for n in range(len(sizes) + 1) if sum(sizes[:n]) < ids.shape[1]]
    for begin, end in pairwise([*ends, ids.shape[1]]):
        parts.append(model(ids[:, begin:end], cache))
        assert parts[-1].shape == (len(ids), end - begin, model.config.vocab_size)
        assert cache.length == start + end
        lengths = {past.length for past in cache.layers}
        assert lengths == {cache.length if model.config.attention.kind != "none" else 0}
    return torch.cat(parts, dim=1)


def every_way(length: int) -> list[list[int]]:
    """Pieces of 1, 2, 3 and many tokens, also behind others; up to all at once."""
    steps = [[size] * length for size in (1, 2, 3)]
    return [*steps, [1, 2, 3], [2, *steps[0]], [3, *steps[0]], [length - 1], [length - 2, 1], []]


def agree(model: Transformer, ids: Tensor) -> None:
    whole = model(ids)
    for sizes in every_way(ids.shape[1]):
        torch.testing.assert_close(decoded(model, ids, sizes), whole, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_every_step_equals_the_whole(config: ModelConfig) -> None:
    """Up to the last place of the context."""
    model = randomise(Transformer(config)).double().eval()
    agree(model, tiny_ids(3, config.context, config.vocab_size))


@each_position
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
def test_every_position_and_attention_and_grouping(position: str, kind: str, n_kv_heads: int) -> None:
    """Parameters are random, tables of positions too: a place that starts again at 0 is far off."""
    attention = {"kind": kind, "n_heads": 6, "n_kv_heads": n_kv_heads}
    agree(tiny_model(position=position, attention=attention, context=10, d_model=24), tiny_ids(length=10))


@pytest.mark.parametrize("position", ["learned", "sinusoidal", "none"])
def test_without_attention_places_are_counted_all_the_same(position: str) -> None:
    agree(tiny_model(position=position, attention={"kind": "none"}), tiny_ids())


@each_position
def test_far_behind_others(position: str) -> None:
    """At distances for which T5's buckets widen, and are full."""
    model, ids = tiny_model(position=position, context=140), tiny_ids(2, 140)
    whole = model(ids)
    for sizes in ([100, 1, 2, 3], [1, 137, 1]):
        torch.testing.assert_close(decoded(model, ids, sizes), whole, rtol=1e-10, atol=1e-10)


@each_position
def test_a_piece_does_not_see_its_own_future(position: str) -> None:
    """To the bit: three tokens behind two others, of which the last is changed."""
    model, ids = tiny_model(position=position), tiny_ids(length=5)
    other = ids.clone()
    other[:, -1] = (other[:, -1] + 1) % V
    a, b = (decoded(model, each, [2]) for each in (ids, other))
    assert torch.equal(a[:, :-1], b[:, :-1])
    assert not torch.equal(a[:, -1], b[:, -1])


@each_position
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_kv_heads", [1, 3])
def test_the_formula_sees_the_same_past_as_the_kernel(position: str, kind: str, n_kv_heads: int) -> None:
    config = tiny_config(position=position, attention={"kind": kind, "n_kv_heads": n_kv_heads})
    variant = ATTENTIONS[kind]
    assert variant is not None
    module, places = randomise(variant(config)).double(), randomise(POSITIONS[position](config)).double()
    x = torch.randn(B, T, D, dtype=torch.float64)
    whole, weights = module.explicit(x, places)
    fused, written = Past(), Past()
    for begin, end in pairwise([0, 2, 3, T]):
        piece = x[:, begin:end]
        y, seen = module.explicit(piece, places, written)
        torch.testing.assert_close(module(piece, places, fused), y, rtol=0, atol=1e-13)
        torch.testing.assert_close(y, whole[:, begin:end], rtol=0, atol=1e-13)
        assert seen.shape == (B, H, end - begin, end)
        torch.testing.assert_close(seen, weights[:, :, begin:end, :end], rtol=0, atol=1e-13)
        assert seen.triu(diagonal=begin + 1).abs().max() == 0.0


def test_too_long_is_refused_by_name_and_leaves_the_cache_as_it_was() -> None:
    model, cache = tiny_model(), Cache(tiny_config())
    model(tiny_ids(length=T - 2), cache)
    with pytest.raises(
        InputError, match=rf"{T + 1} tokens, {T - 2} of them in the cache, the context holds {T}"
    ):
        model(tiny_ids(length=3), cache)
    assert cache.length == T - 2
    assert {past.length for past in cache.layers} == {T - 2}
    assert model(tiny_ids(length=2), cache).shape == (B, 2, V)
    with pytest.raises(InputError, match=r"crop it to ids\[:, -7:\] with an empty cache or build"):
        model(tiny_ids(length=1), cache)


@pytest.mark.parametrize(
    "wrong", [torch.tensor([[V]]), torch.zeros(1, 0, dtype=torch.int64), torch.zeros(1, 1)]
)
def test_what_is_refused_without_a_cache_is_refused_with_one(wrong: Tensor) -> None:
    with pytest.raises(InputError):
        tiny_model()(wrong, Cache(tiny_config()))


def test_rows_do_not_mix() -> None:
    model, ids = tiny_model(position="alibi"), tiny_ids()
    together = decoded(model, ids, [2, 1, 2])
    for row in range(B):
        alone = decoded(model, ids[row : row + 1], [2, 1, 2])
        torch.testing.assert_close(together[row : row + 1], alone, rtol=1e-12, atol=1e-12)
