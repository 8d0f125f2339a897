"""No logit depends on a later token, exactly, and every logit depends on the whole past."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from blockproof.model.transformer import Transformer
from blockproof.tests.checks.causality import causality
from blockproof.tests.checks.controls import Bigram, Mixed, Peek, Unmasked
from blockproof.tests.helpers import T, V, dropping, tiny_config, tiny_ids, tiny_model


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("scale", [0.3, 3.0], ids=["usual", "strong"])
def test_no_logit_depends_on_the_future(
    variant: dict[str, Any], dtype: torch.dtype, mode: str, scale: float
) -> None:
    model = tiny_model(scale, dtype, **dropping(**variant)).train(mode == "train")
    evidence = causality(model, tiny_ids(), V)
    assert evidence.leak == 0.0
    assert evidence.moved.diagonal().max() > 0.0  # there was a change (dropout may hide it in places)
    assert model.training == (mode == "train")


@pytest.mark.parametrize("length", [1, 2, 16])
def test_every_logit_depends_on_its_whole_past(variant: dict[str, Any], length: int) -> None:
    model = tiny_model(context=16, **variant)
    evidence = causality(model, tiny_ids(length=length), V)
    assert evidence.moved.shape == evidence.pulled.shape == (length, length)
    assert evidence.leak == 0.0
    assert evidence.blind == []


def test_holds_as_built(variant: dict[str, Any]) -> None:
    evidence = causality(Transformer(tiny_config(**variant)).double(), tiny_ids(), V)
    assert evidence.leak == 0.0
    shut = variant.get("residual") == {"kind": "gated"}  # the gates start at 0: a token sees itself alone
    assert evidence.blind == [(i, j) for i in range(T) for j in range(i) if shut]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_holds_beyond_one_tile_of_the_fused_kernel(dtype: torch.dtype) -> None:
    """The kernel works through the places in tiles of 32 and more; the mask must hold at every seam."""
    model = tiny_model(0.3, dtype, context=70, n_layers=1)
    evidence = causality(model, tiny_ids(batch=2, length=70), V)
    assert evidence.leak == 0.0
    assert dtype == torch.float32 or evidence.blind == []


LEAKING = {
    "unmasked": lambda: Unmasked(V, T, d_model=12),
    "peek": lambda: Peek(tiny_model(dtype=torch.float32), V),
    "mixed sequences": lambda: Mixed(tiny_model()),
}


@pytest.mark.parametrize("control", LEAKING)
def test_sees_a_leak(control: str) -> None:
    assert causality(LEAKING[control](), tiny_ids(), V).leak > 0.01


def test_sees_that_the_past_does_not_matter() -> None:
    evidence = causality(Bigram(V), tiny_ids(), V)
    assert evidence.leak == 0.0
    assert evidence.blind == [(i, j) for i in range(T) for j in range(i)]


class PositionsFirst(nn.Module):
    """A sound bigram model, whatever the order in which its tables are defined."""

    def __init__(self) -> None:
        super().__init__()
        self.position, self.token = nn.Embedding(T, V), nn.Embedding(V, V)

    def forward(self, ids: Tensor) -> Tensor:
        logits: Tensor = self.position(torch.arange(T)) + self.token(ids)
        return logits


class TwoTokenTables(PositionsFirst):
    """Embeds the tokens twice, and tells the next one by the second."""

    def forward(self, ids: Tensor) -> Tensor:
        return self.token(ids) + self.token(ids).roll(-1, dims=1)


class NoTable(nn.Module):
    """Looks its tokens up by a product."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(V, V))

    def forward(self, ids: Tensor) -> Tensor:
        return nn.functional.one_hot(ids, V).float() @ self.weight


def test_finds_the_token_tables_wherever_they_stand() -> None:
    assert causality(PositionsFirst(), tiny_ids(), V).leak == 0.0
    assert causality(TwoTokenTables(), tiny_ids(), V).pulled.triu(diagonal=1).max() > 0.1
    unseen = causality(NoTable(), tiny_ids(), V)
    assert torch.equal(unseen.pulled, unseen.moved)
    assert unseen.leak == 0.0


def test_needs_two_sequences() -> None:
    with pytest.raises(ValueError, match="B >= 2"):
        causality(tiny_model(), tiny_ids(batch=1), V)


def test_takes_nan_for_a_leak_and_for_blindness() -> None:
    model = Bigram(V)
    nn.init.constant_(model.logits.weight, torch.nan)
    evidence = causality(model, tiny_ids(), V)
    assert evidence.leak != 0.0
    assert len(evidence.blind) == T * (T + 1) // 2
