"""Properties that hold for any sizes, tokens and losses, searched for counterexamples."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blockproof.model.labels import IGNORE, cross_entropy, shift
from blockproof.model.position import POSITIONS
from blockproof.tests.checks.causality import causality
from blockproof.tests.checks.overfit import loss_floor
from blockproof.tests.helpers import V, tiny_config, tiny_ids, tiny_model

few = settings(max_examples=25, deadline=None, derandomize=True)
tokens = st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=1, max_size=8).map(
    torch.tensor
)


heads = st.sampled_from([(1, 1), (2, 1), (3, 3), (6, 2), (6, 3)])
shapes = st.tuples(st.integers(2, 4), st.integers(1, 7))


@few
@given(heads=heads, shape=shapes, position=st.sampled_from(sorted(POSITIONS)), seed=st.integers(0, 10**6))
def test_no_logit_depends_on_the_future(
    heads: tuple[int, int], shape: tuple[int, int], position: str, seed: int
) -> None:
    torch.manual_seed(seed)
    model = tiny_model(position=position, attention={"n_heads": heads[0], "n_kv_heads": heads[1]})
    evidence = causality(model, tiny_ids(*shape), V)
    assert evidence.leak == 0.0
    assert evidence.blind == []


@few
@given(tokens=tokens, first=st.integers(1, 5))
def test_a_shift_pairs_every_token_with_the_next(tokens: torch.Tensor, first: int) -> None:
    inputs, targets = shift(tokens, first_target=first)
    for row, input_row, target_row in zip(tokens.tolist(), inputs.tolist(), targets.tolist(), strict=True):
        assert input_row == row[:-1]
        assert target_row == [IGNORE] * (first - 1) + row[first:]


@few
@given(seed=st.integers(0, 10**6), constant=st.floats(-50, 50), ignored=st.floats(0, 1))
def test_a_constant_on_all_logits_of_a_place_costs_nothing(
    seed: int, constant: float, ignored: float
) -> None:
    torch.manual_seed(seed)
    logits, targets = torch.randn(3, 4, 7, dtype=torch.float64), torch.randint(7, (3, 4))
    targets[torch.rand(3, 4) < ignored] = IGNORE
    before, after = cross_entropy(logits, targets).item(), cross_entropy(logits + constant, targets).item()
    assert math.isclose(before, after, rel_tol=1e-12, abs_tol=1e-12)
    assert before >= 0.0


@few
@given(tokens=tokens)
def test_no_predictor_gets_below_the_floor_and_seeing_less_raises_it(tokens: torch.Tensor) -> None:
    """The floor of a whole prefix is at most that of its last token, and that at most ln of what follows."""
    floor, blinder = loss_floor(tokens), loss_floor(tokens, lambda prefix: prefix[-1])
    assert 0.0 <= floor <= blinder + 1e-12
    assert blinder <= math.log(5) + 1e-12


@few
@given(d_model=st.integers(32, 512), bias=st.booleans())
def test_a_matched_width_is_the_nearest(d_model: int, bias: bool) -> None:
    fields = {"kind": "swiglu", "bias": bias}
    width = tiny_config(d_model=d_model, attention={"n_heads": 1}, feedforward=fields).d_ff
    target = 8 * d_model**2 + bias * 5 * d_model

    def off(f: int) -> int:
        return abs(3 * d_model * f + bias * (2 * f + d_model) - target)

    assert off(width) <= min(off(width - 1), off(width + 1))
