"""Which tokens are kept and with which probabilities: exact, against a reference in fractions."""

from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor

from blockproof.model.sampling import GREEDY, Sampling, choose, probabilities
from blockproof.model.schema import ConfigError

many = settings(max_examples=300, deadline=None, derandomize=True)
weights = st.lists(st.integers(1, 9), min_size=1, max_size=8)  # ties are common
portions = st.builds(Fraction, st.integers(1, 12), st.just(12)) | st.fractions(
    Fraction(1, 50), 1, max_denominator=50
)


def of(*weights: float | Fraction) -> Tensor:
    """Logits of a distribution; a constant on all of them is as good as none."""
    return torch.tensor([float(weight) for weight in weights], dtype=torch.float64).log() + 3.0


def reference(weights: list[int], sharpness: int, top_k: int | None, top_p: Fraction) -> list[Fraction]:
    """Token by token, at a temperature of 1 / sharpness."""
    powers = [Fraction(weight) ** sharpness for weight in weights]
    ranked = sorted(range(len(weights)), key=lambda token: (-powers[token], token))[:top_k]
    total = sum(powers[token] for token in ranked)
    kept: list[int] = []
    while ranked and sum(powers[token] for token in kept) < top_p * total:
        kept.append(ranked.pop(0))
    mass = sum(powers[token] for token in kept)
    return [powers[token] / mass if token in kept else Fraction(0) for token in range(len(weights))]


@many
@given(weights=weights, sharpness=st.integers(1, 3), top_k=st.none() | st.integers(1, 10), top_p=portions)
def test_what_is_kept(weights: list[int], sharpness: int, top_k: int | None, top_p: Fraction) -> None:
    chosen = Sampling(temperature=1 / sharpness, top_k=top_k, top_p=float(top_p))
    p = probabilities(of(*weights), chosen)
    expected = [float(each) for each in reference(weights, sharpness, top_k, top_p)]
    assert [each > 0 for each in p.tolist()] == [each > 0 for each in expected]
    assert p.tolist() == pytest.approx(expected, rel=1e-12)


HALVES = (0.125, 0.5, 0.125, 0.25)
TENTHS = (0.4, 0.3, 0.2, 0.1)
NUCLEUS: list[tuple[tuple[float, ...], dict[str, Any], list[int]]] = [
    (HALVES, {"top_p": 1.0}, [0, 1, 2, 3]),
    (HALVES, {"top_p": 1 - 1e-6}, [0, 1, 2, 3]),
    (HALVES, {"top_p": 1e-300}, [1]),
    (HALVES, {"top_p": 0.5}, [1]),  # reached exactly: the next one is not needed
    (HALVES, {"top_p": 0.5001}, [1, 3]),
    (HALVES, {"top_p": 0.75}, [1, 3]),
    (HALVES, {"top_p": 0.875}, [0, 1, 3]),  # of equal ones the first
    (TENTHS, {"top_p": 0.7}, [0, 1]),  # 0.4 + 0.3 is below 0.7 in some ways to round
    (TENTHS, {"top_p": 0.9}, [0, 1, 2]),
    ((1.0, 1e-20, 1e-200), {"top_p": 1.0}, [0, 1, 2]),
    (TENTHS, {"top_k": 1, "top_p": 0.8}, [0]),
    (TENTHS, {"top_k": 2, "top_p": 0.5}, [0]),  # of 4/7 and 3/7; of 0.4 and 0.3 it would be both
    (TENTHS, {"top_k": 3, "top_p": 0.6}, [0, 1]),
    (TENTHS, {"top_k": 3, "top_p": 0.4}, [0]),
    (TENTHS, {"top_k": 4}, [0, 1, 2, 3]),
    (TENTHS, {"top_k": 5}, [0, 1, 2, 3]),
    (TENTHS, {"top_k": 10**9}, [0, 1, 2, 3]),
    ((0.25, 0.25, 0.25, 0.25), {"top_k": 2}, [0, 1]),
    (TENTHS, {"temperature": 0.25, "top_p": 0.7}, [0]),  # of 256, 81, 16 and 1
    (TENTHS, {"temperature": 100.0, "top_p": 0.7}, [0, 1, 2]),
]


@pytest.mark.parametrize(("weights", "fields", "kept"), NUCLEUS)
def test_the_ends_of_every_limit(weights: tuple[float, ...], fields: dict[str, Any], kept: list[int]) -> None:
    p = probabilities(of(*weights), Sampling(**fields))
    assert p.nonzero().flatten().tolist() == kept
    assert p.sum().item() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("temperature", [1e-6, 5e-324])
@pytest.mark.parametrize("scale", [1.0, 1e30])
def test_nearly_no_temperature_is_finite_and_greedy(temperature: float, scale: float) -> None:
    logits = torch.tensor([0.5, 2.0, -3.0, 1.999]) * scale
    p = probabilities(logits, Sampling(temperature=temperature, top_k=3, top_p=0.9))
    assert p.tolist() == [0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_any_precision_of_logits(dtype: torch.dtype) -> None:
    p = probabilities(torch.tensor([0.0, -torch.inf, 0.0], dtype=dtype), Sampling(temperature=1e-6))
    assert p.tolist() == [0.5, 0.0, 0.5]
    assert p.dtype == torch.float64


@pytest.mark.parametrize("size", [4, 1000])
def test_no_temperature_takes_the_first_of_the_largest_and_draws_nothing(size: int) -> None:
    generator = Generator().manual_seed(0)
    before, logits = generator.get_state(), torch.zeros(size)
    assert choose(logits, GREEDY, generator) == 0
    logits[[1, size - 1]] = 2.0
    for chosen in (GREEDY, Sampling(temperature=0.0, top_k=3, top_p=0.1)):
        assert choose(logits, chosen, generator) == 1
    assert torch.equal(generator.get_state(), before)


@pytest.mark.parametrize("size", [5, 17, 1000])
def test_of_equal_tokens_the_first_are_kept(size: int) -> None:
    """Some sorts keep ties in order up to 16 numbers and not beyond."""
    for fields in ({"top_k": 3}, {"top_p": 2.5 / size}):
        kept = probabilities(torch.zeros(size), Sampling(**fields)).nonzero().flatten()
        assert kept.tolist() == [0, 1, 2]


def test_draws_what_the_probabilities_say() -> None:
    """3000 draws: within 5 standard deviations of each, and of what is not kept none."""
    generator, draws = Generator().manual_seed(0), 3000
    chosen = Sampling(temperature=0.5, top_k=3)
    seen = [choose(of(*TENTHS), chosen, generator) for _ in range(draws)]
    for token, expected in enumerate(probabilities(of(*TENTHS), chosen).tolist()):
        spread = (expected * (1 - expected) / draws) ** 0.5
        assert abs(seen.count(token) / draws - expected) <= 5 * spread


def test_the_logits_are_left_as_they_are() -> None:
    logits = of(*HALVES)
    before = logits.clone()
    choose(logits, Sampling(temperature=0.7, top_k=2, top_p=0.6), Generator().manual_seed(0))
    assert torch.equal(logits, before)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"temperature": -0.1}, "Sampling.temperature must be at least 0.0, got -0.1"),
        ({"temperature": float("nan")}, "Sampling.temperature must be finite"),
        ({"top_k": 0}, "Sampling.top_k must be at least 1, got 0"),
        ({"top_k": -1}, "Sampling.top_k must be at least 1, got -1"),
        ({"top_k": 2.0}, "Sampling.top_k must be of type int"),
        ({"top_p": 0.0}, "Sampling.top_p must be above 0 and at most 1, got 0.0: 1 keeps all"),
        ({"top_p": -0.5}, "Sampling.top_p must be above 0"),
        ({"top_p": 1.001}, "at most 1, got 1.001"),
        ({"topk": 3}, "Sampling has no field 'topk'; did you mean 'top_k'"),
    ],
)
def test_refuses(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Sampling(**fields)
