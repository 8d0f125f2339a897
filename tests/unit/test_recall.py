"""Copy and offset: what is asked, and the loss of the best model at each place."""

import math

import pytest
import torch
from torch import Generator, Tensor

from blockproof.model import labels
from blockproof.model.labels import IGNORE
from blockproof.model.recall import CopyData, CopySource, OffsetData, OffsetSource
from blockproof.model.schema import ConfigError


def seeded(seed: int) -> Generator:
    return Generator().manual_seed(seed)


def losses(logits: Tensor, targets: Tensor) -> list[float]:
    """Mean loss at each place, in nats; 0 where nothing is scored."""
    each = labels.cross_entropy(logits, targets, reduction="none")
    return each.reshape(targets.shape).mean(dim=0).tolist()


def certain(tokens: Tensor, symbols: int) -> Tensor:
    """Logits (…, V) of a model that is sure of these tokens."""
    return torch.nn.functional.one_hot(tokens, symbols).double().log()


def uniform(windows: Tensor, symbols: int) -> bool:
    """Whether all windows (n, T) that can be made are about equally often there, within 5 deviations."""
    kinds = symbols ** windows.shape[1]
    counts = windows.unique(dim=0, return_counts=True)[1]
    deviation = math.sqrt(len(windows) / kinds * (1 - 1 / kinds))
    return len(counts) == kinds and bool(((counts - len(windows) / kinds).abs() < 5 * deviation).all())


@pytest.mark.parametrize("n", [1, 2, 4])
def test_copy_repeats_what_was_drawn(n: int) -> None:
    inputs, targets = CopySource(CopyData(symbols=3, length=n), 2 * n - 1).batch(8000, seeded(1))
    assert inputs.shape == targets.shape == (8000, 2 * n - 1)
    for seen, asked in zip(inputs.tolist(), targets.tolist(), strict=True):
        first = seen[:n]
        assert [*seen, asked[-1]] == first + first
        assert asked == (first + first)[1:]
    assert uniform(inputs[:, :n], 3)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_copy_floor_is_what_the_best_model_reaches(n: int) -> None:
    """It knows nothing of the first half and all of the second."""
    source = CopySource(CopyData(symbols=3, length=n), 2 * n - 1)
    inputs, targets = source.batch(50, seeded(2))
    logits = torch.zeros(50, 2 * n - 1, 3, dtype=torch.float64)
    for t in range(n - 1, 2 * n - 1):
        logits[:, t] = certain(inputs[:, t - n + 1], 3)
    assert losses(logits, targets) == pytest.approx(source.floors.tolist(), rel=0, abs=1e-15)
    assert source.floors.tolist() == [math.log(3)] * (n - 1) + [0.0] * n
    assert source.floor == pytest.approx((n - 1) * math.log(3) / (2 * n - 1), rel=0, abs=1e-15)
    assert labels.cross_entropy(logits, targets).item() == pytest.approx(source.floor, rel=0, abs=1e-15)
    assert source.blind_loss == math.log(3)


@pytest.mark.parametrize(("offset", "context"), [(1, 2), (1, 5), (2, 5), (4, 5)])
def test_offset_asks_for_the_token_so_far_back(offset: int, context: int) -> None:
    inputs, targets = OffsetSource(OffsetData(symbols=3, offset=offset), context).batch(8000, seeded(1))
    assert inputs.shape == targets.shape == (8000, context)
    for seen, asked in zip(inputs.tolist(), targets.tolist(), strict=True):
        assert asked == [seen[t - offset] if t >= offset else IGNORE for t in range(context)]
    assert uniform(inputs, 3)


@pytest.mark.parametrize(("offset", "context"), [(1, 2), (2, 5), (4, 5)])
def test_offset_floor_is_what_the_best_model_reaches(offset: int, context: int) -> None:
    source = OffsetSource(OffsetData(symbols=3, offset=offset), context)
    inputs, targets = source.batch(50, seeded(2))
    logits = certain(inputs.roll(offset, dims=1), 3)
    assert losses(logits, targets) == source.floors.tolist() == [0.0] * context
    assert labels.cross_entropy(logits, targets).item() == source.floor == 0.0
    blind = labels.cross_entropy(torch.zeros_like(logits), targets).item()
    assert blind == pytest.approx(source.blind_loss, rel=0, abs=1e-15)
    assert source.blind_loss == math.log(3)


@pytest.mark.parametrize("context", [1, 3, 4])
def test_offset_needs_a_token_to_ask_for(context: int) -> None:
    with pytest.raises(ConfigError, match=f"an offset of 4 needs a context of at least 5, got {context}"):
        OffsetSource(OffsetData(symbols=3, offset=4), context)
