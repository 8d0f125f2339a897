"""Habits of published models that once turned a check red: green now, beside the fault that must stay red."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from blockproof.tests.checks.causal import causal
from blockproof.tests.checks.order import UNUSED, order
from blockproof.tests.checks.padding import masked_padding
from blockproof.tests.seam.subject import Subject, subject
from blockproof.tests.zoo.decoder import D, Decoder, T


def judged(build: Callable[[], nn.Module]) -> Subject:
    return subject("model", build)


class ScaledInPlace(Decoder):
    """CTRL's: the token vectors are scaled where they are."""

    def embedded(self, ids: Tensor, places: Tensor) -> Tensor:
        x = self.wte(ids)
        x *= D**0.5
        return x + self.wpe(places)


class Counting(nn.Embedding):
    """BigBird-Pegasus's table of positions: takes the ids, and reads no more than how many they are."""

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(torch.arange(ids.shape[1]))


class CountsIds(Decoder):
    """Adds positions (T, D) that a table makes of ids (B, T)."""

    def __init__(self) -> None:
        super().__init__()
        self.wpe = Counting(T, D)

    def embedded(self, ids: Tensor, places: Tensor) -> Tensor:
        return self.wte(ids) + self.wpe(ids)


class Peeking(ScaledInPlace):
    """The same, and adds the next token."""

    def embedded(self, ids: Tensor, places: Tensor) -> Tensor:
        return super().embedded(ids, places) + self.wte(ids).roll(-1, dims=1)


class FromTwo(Decoder):
    """RoBERTa's: positions start behind the padding's row, and a table has as many rows more."""

    def __init__(self) -> None:
        super().__init__()
        self.position_embeddings = nn.Embedding(T, D, padding_idx=1)
        del self.wpe

    def forward(
        self, ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None
    ) -> Tensor:
        places = torch.arange(ids.shape[1]) + 2 if position_ids is None else position_ids
        hidden = None if attention_mask is None else attention_mask == 0
        return self.logits(self.features(ids, places, hidden))

    def embedded(self, ids: Tensor, places: Tensor) -> Tensor:
        return self.wte(ids) + self.position_embeddings(places)


class DeafToPlaces(FromTwo):
    """Takes position_ids and counts from the left all the same."""

    def embedded(self, ids: Tensor, places: Tensor) -> Tensor:
        return super().embedded(ids, torch.arange(ids.shape[1]) + 2)


class WorkedOutAnew(Decoder):
    """PhiMoE's: keeps frequencies in a buffer, and works out those that it uses from its config in each forward."""

    uses = True

    def __init__(self) -> None:
        super().__init__()
        del self.wpe
        self.inv_freq = nn.Buffer(self.frequencies())

    def forward(self, ids: Tensor, position_ids: Tensor | None = None) -> Tensor:
        return self.logits(self.features(ids, position_ids))

    def embedded(self, ids: Tensor, places: Tensor) -> Tensor:
        angles = places[..., None] * self.frequencies().to(self.wte.weight)
        told = torch.cat([angles.sin(), angles.cos()], dim=-1)
        return self.wte(ids) + told * self.uses

    def frequencies(self) -> Tensor:
        return 1e4 ** (-torch.arange(0, D, 2) / D)


class Forgotten(WorkedOutAnew):
    """The same, with positions built and nowhere used."""

    uses = False


def test_token_vectors_may_be_changed_in_place() -> None:
    for strong in (False, True):
        assert causal(judged(ScaledInPlace), torch.float64, training=False, strong=strong).sound
        assert not causal(judged(Peeking), torch.float64, training=False, strong=strong).sound


def test_a_table_of_positions_may_be_given_the_ids() -> None:
    assert causal(judged(CountsIds), torch.float64, training=False, strong=True).sound


def test_rows_before_the_first_position_are_no_context() -> None:
    assert judged(FromTwo).context == T - 2
    assert judged(Decoder).context == T


def test_positions_may_start_anywhere_if_they_are_heeded() -> None:
    assert masked_padding(judged(FromTwo)).sound
    assert not masked_padding(judged(DeafToPlaces)).sound


def test_a_copy_of_frequencies_may_lie_idle_if_positions_are_told() -> None:
    assert order(judged(WorkedOutAnew)).sound
    assert UNUSED in order(judged(Forgotten)).problem


def test_a_tile_is_no_context() -> None:
    def tiled() -> nn.Module:
        model = Decoder()
        model.config.block_size = 2
        return model

    assert judged(tiled).context == T
