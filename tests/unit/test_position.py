"""Positions: each against its formula, and what each promises."""

import math

import pytest
import torch
from torch import Tensor

from blockproof.model.position import POSITIONS, BucketedPosition, Position, alibi_slopes
from blockproof.model.schema import ConfigError
from blockproof.tests.helpers import B, D, H, T, parameter, randomise, tiny_config, tiny_ids, tiny_model
from blockproof.tests.oracle.position import BIASES, EMBEDDED, rotated
from blockproof.tests.oracle.weights import weights_of


def make(kind: str) -> Position:
    return randomise(POSITIONS[kind](tiny_config(position=kind))).double()


def heads(d: int = 4) -> Tensor:
    return torch.randn(B, H, T, d, dtype=torch.float64)


@pytest.mark.parametrize("kind", EMBEDDED)
@pytest.mark.parametrize("first", [0, 2])
def test_embedded_matches_the_reference(kind: str, first: int) -> None:
    position, x = make(kind), torch.randn(B, T - first, D, dtype=torch.float64)
    y, weights = position(x, torch.arange(first, T)), weights_of(position)
    for b in range(B):
        for t in range(T - first):
            expected = EMBEDDED[kind](x[b, t].numpy(), first + t, weights)
            torch.testing.assert_close(y[b, t], torch.from_numpy(expected), rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", BIASES)
def test_bias_matches_the_reference(kind: str) -> None:
    """Up to distances where the buckets of T5 are full."""
    position, places = make(kind), torch.arange(200)
    bias, weights = position.bias(places, places), weights_of(position)
    assert bias is not None
    assert bias.shape == (H, 200, 200)
    for h in range(H):
        for distance in range(200):
            expected = BIASES[kind](h, distance, H, weights)
            seen = bias[h].diagonal(-distance)
            torch.testing.assert_close(seen, torch.full_like(seen, expected), rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", POSITIONS)
def test_acts_in_one_way_only(kind: str) -> None:
    position, places = make(kind), torch.arange(T)
    x, q = torch.randn(B, T, D, dtype=torch.float64), heads()
    acts = {
        "embedding": not torch.equal(position(x, places), x),
        "rotation": not torch.equal(position.rotate(q, places), q),
        "bias": position.bias(places, places) is not None,
    }
    expected = dict.fromkeys(EMBEDDED, "embedding") | dict.fromkeys(BIASES, "bias") | {"rope": "rotation"}
    if kind not in expected and kind != "none":
        pytest.skip(f"the oracle has no formula for position {kind!r}: add it in tests/oracle")
    assert [way for way, does in acts.items() if does] == ([expected[kind]] if kind in expected else [])


@pytest.mark.parametrize("d", [2, 4, 10])
def test_rotation_matches_the_reference(d: int) -> None:
    x = heads(d)
    y = make("rope").rotate(x, torch.arange(T))
    for place in range(T):
        expected = rotated(x[1, 2, place].numpy(), place)
        torch.testing.assert_close(y[1, 2, place], torch.from_numpy(expected), rtol=0, atol=1e-13)
    torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1), rtol=1e-13, atol=0)
    assert torch.equal(y[:, :, 0], x[:, :, 0])  # nothing turns at place 0


def test_rotated_scores_depend_on_distance_alone() -> None:
    rope, q, k = make("rope"), heads(10), heads(10)
    near, far = (
        rope.rotate(q, torch.arange(T) + shift) @ rope.rotate(k, torch.arange(T) + shift).mT
        for shift in (0, 1000)
    )
    torch.testing.assert_close(near, far, rtol=0, atol=1e-11)
    assert (near - q @ k.mT).abs().max() > 0.1


RELATIVE = ["rope", "alibi", "t5", "none"]


@pytest.mark.parametrize("kind", POSITIONS)
def test_shifting_all_places_changes_nothing_where_distance_counts(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, ids = tiny_model(position=kind, context=40), tiny_ids()
    logits, arange = model(ids), torch.arange
    monkeypatch.setattr(torch, "arange", lambda n, **usual: arange(n, **usual) + 30 * (n == T))
    moved = (model(ids) - logits).abs().max()
    assert moved < 1e-11 if kind in RELATIVE else moved > 1e-2


@pytest.mark.parametrize("kind", [kind for kind in POSITIONS if kind != "none"])
def test_place_is_told(kind: str) -> None:
    """Two tokens that change places before the same last one: a single layer tells by positions alone."""
    model, ids = tiny_model(position=kind, n_layers=1), tiny_ids(length=4)
    swapped = ids[:, [1, 0, 2, 3]]
    different = ids[:, 0] != ids[:, 1]
    moved = (model(ids) - model(swapped))[different, -1].abs().amax(dim=-1)
    assert len(moved) > 0
    assert moved.min() > 1e-6


def test_slopes_of_heads() -> None:
    """Those printed by the paper's authors for a power of two and for 12 heads."""
    assert alibi_slopes(8) == [2.0**-k for k in range(1, 9)]
    assert alibi_slopes(16) == pytest.approx([2 ** (-k / 2) for k in range(1, 17)], rel=1e-15)
    twelve = [2.0**-k for k in range(1, 9)] + [2 ** (-k / 2) for k in (1, 3, 5, 7)]
    assert alibi_slopes(12) == pytest.approx(twelve, rel=1e-15)
    assert alibi_slopes(1) == [1 / 256]


def test_buckets() -> None:
    distance = torch.tensor([-5, -1, 0, 1, 15, 16, 17, 18, 19, 127, 128, 10_000])
    assert BucketedPosition.bucket(distance).tolist() == [0, 0, 0, 1, 15, 16, 16, 16, 17, 31, 31, 31]
    far = BucketedPosition.bucket(torch.arange(200))
    assert far.unique().tolist() == list(range(32))
    assert (far.diff() >= 0).all()


def test_learned_has_a_vector_for_each_place_of_the_context() -> None:
    shapes = [tuple(p.shape) for p in POSITIONS["learned"](tiny_config()).parameters()]
    assert shapes == [(T, D)]
    assert parameter(make("t5"), "table.weight").shape == (32, H)


@pytest.mark.parametrize("kind", ["sinusoidal", "rope", "alibi", "t5"])
def test_computed_anywhere(kind: str) -> None:
    """No table ends at the context."""
    position, places = make(kind), torch.tensor([10**6])
    assert position(torch.zeros(1, 1, D, dtype=torch.float64), places).isfinite().all()
    assert position.rotate(torch.ones(1, 1, 1, 4), places).isfinite().all()
    bias = position.bias(places, torch.tensor([0]))
    assert bias is None or bias.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_far_places_stay_exact_in_any_dtype(dtype: torch.dtype) -> None:
    """A table kept in a small dtype would confuse places 4000 and 4001."""
    unit = torch.tensor([1.0, 0.0], dtype=dtype).expand(1, 1, 2, 2)
    turned = make("rope").rotate(unit, torch.tensor([4000, 4001])).double()
    for t, place in enumerate((4000, 4001)):
        expected = [math.cos(place), math.sin(place)]
        assert turned[0, 0, t].tolist() == pytest.approx(expected, abs=torch.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"position": "sinusoidal", "d_model": 9}, "an even d_model, got 9"),
        ({"position": "rope", "d_model": 9}, "heads of even width, got d_head 3"),
        *(
            ({"position": kind, "attention": {"kind": "none"}}, f"position '{kind}' acts inside of attention")
            for kind in ("rope", "alibi", "t5")
        ),
    ],
)
def test_refuses(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_config(**fields)


@pytest.mark.parametrize("kind", POSITIONS)
def test_what_is_given_stays_as_it_is(kind: str) -> None:
    """Nothing is added or turned in place: whoever gave it may need it again."""
    position, x, q, places = make(kind), torch.randn(B, T, D, dtype=torch.float64), heads(), torch.arange(T)
    given = [x.clone(), q.clone(), places.clone()]
    position(x, places)
    position.rotate(q, places)
    position.bias(places, places)
    assert all(torch.equal(a, b) for a, b in zip((x, q, places), given, strict=True))
