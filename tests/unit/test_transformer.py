"""The whole model: what it computes, what it shares, and what it refuses."""

from typing import Any

import pytest
import torch
from torch import Tensor

from blockproof.model.position import Position
from blockproof.model.transformer import Block, InputError, Transformer
from blockproof.tests.helpers import (
    B,
    D,
    N,
    T,
    V,
    dropping,
    gradients,
    merged,
    parameter,
    randomise,
    tiny_config,
    tiny_ids,
    tiny_model,
    without_biases,
)
from blockproof.tests.oracle.transformer import transformer
from blockproof.tests.oracle.weights import weights_of

BIASED = [
    {},
    without_biases() | {"norm": {"bias": False}},
    {"head_bias": True},
    {"tied": False},
    {"tied": False, "head_bias": True},
    {"norm": {"final": False}},
    {"norm": {"final": False, "placement": "none"}},
    {"attention": {"kind": "none"}, "position": "none"},
    {"feedforward": {"kind": "none"}},
]


@pytest.mark.parametrize("fields", BIASED, ids=str)
@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("residual", ["add", "none"])
def test_matches_the_reference(fields: dict[str, Any], placement: str, residual: str) -> None:
    """The whole; every variant of every part is in the contract tests."""
    joined = {"norm": {"placement": placement}, "residual": {"kind": residual}}
    model, ids = tiny_model(**merged(joined, fields)), tiny_ids(length=T - 1)
    expected = transformer(ids.numpy(), weights_of(model), model.config.to_dict())
    assert expected.shape == (B, T - 1, V)
    torch.testing.assert_close(model(ids), torch.from_numpy(expected), rtol=1e-11, atol=1e-11)


WRONG = {
    "too long": (torch.zeros(2, 9, dtype=torch.int64), "has 9 tokens, the context holds 7"),
    "id too large": (torch.tensor([[0, 1], [2, 11]]), r"token id 11 is outside the vocabulary 0 … 10"),
    "id far too large": (torch.tensor([[0, 1], [2, 40]]), r"token id 40 is outside the vocabulary 0 … 10"),
    "id negative": (torch.tensor([[0, -3], [2, 1]]), r"token id -3 is outside the vocabulary 0 … 10"),
    "float": (torch.zeros(2, 3), "must be int64 or int32, got torch.float32"),
    "bool": (torch.zeros(2, 3, dtype=torch.bool), "must be int64 or int32, got torch.bool"),
    "empty batch": (torch.zeros(0, 3, dtype=torch.int64), r"shape \(B, T\).*got \(0, 3\)"),
    "empty sequence": (torch.zeros(2, 0, dtype=torch.int64), r"shape \(B, T\).*got \(2, 0\)"),
    "one sequence": (torch.zeros(3, dtype=torch.int64), r"shape \(B, T\).*got \(3,\)"),
    "three axes": (torch.zeros(2, 3, 4, dtype=torch.int64), r"shape \(B, T\).*got \(2, 3, 4\)"),
}


@pytest.mark.parametrize(("ids", "message"), WRONG.values(), ids=WRONG)
def test_refuses(ids: Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tiny_model()(ids)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_takes_the_full_context_and_every_id(dtype: torch.dtype) -> None:
    ids = torch.tensor([range(T), range(V - T, V)], dtype=dtype)
    assert tiny_model()(ids).isfinite().all()


def test_placement_matters_with_the_same_weights() -> None:
    torch.manual_seed(1)
    pre = Transformer(tiny_config(context=16))
    torch.manual_seed(1)
    post = Transformer(tiny_config(context=16, norm={"placement": "post"}))
    post.load_state_dict(pre.state_dict())
    ids = tiny_ids(batch=2, length=16)
    assert (pre(ids) - post(ids)).abs().max() > 1e-2


def test_position_matters_only_where_it_is_told() -> None:
    """Of the same token throughout, a model that is not told the places gives the same logits."""
    ids = torch.full((2, T), 3)
    spread = {kind: tiny_model(position=kind)(ids).std(dim=1).max() for kind in ("learned", "none")}
    assert spread["learned"] > 1e-2
    assert spread["none"] < 1e-12


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("residual", ["add", "none"])
def test_block_keeps_the_shape(placement: str, residual: str) -> None:
    block = randomise(Block(tiny_config(norm={"placement": placement}, residual={"kind": residual})))
    x = torch.randn(B, T, D)
    y = block(x, Position(tiny_config()))
    assert y.shape == x.shape
    assert not torch.equal(y, x)


def test_head_is_the_token_embedding() -> None:
    """One matrix: doubling it doubles what the head makes of the same final vectors."""
    model, final = tiny_model(), []
    model.norm.register_forward_hook(lambda module, inputs, output: final.append(output))
    assert sum(parameter.shape == (V, D) for parameter in model.parameters()) == 1
    with torch.no_grad():
        model.token.weight.mul_(2)
        logits = model(tiny_ids())
    torch.testing.assert_close(logits, final[0] @ model.token.weight.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("tied", [True, False])
def test_head_trains_the_embedding_only_when_tied(tied: bool) -> None:
    """Then a token that is never put in still gets a gradient, from the head."""
    model = tiny_model(tied=tied)
    model(torch.zeros(2, T, dtype=torch.int64))[..., 5].sum().backward()
    used = gradients(model)["token.weight"].abs().amax(dim=-1).nonzero().flatten().tolist()
    assert used == ([0, 5] if tied else [0])


def test_every_block_is_its_own() -> None:
    model = tiny_model()
    blocks = [list(block.parameters()) for block in model.blocks]
    assert len(blocks) == N
    assert not {id(p) for p in blocks[0]} & {id(p) for p in blocks[1]}


def test_dropout_acts_in_training_alone() -> None:
    model, ids = tiny_model(**dropping()), tiny_ids()
    quiet = tiny_model()
    quiet.load_state_dict(model.state_dict())
    assert torch.equal(model(ids), model(ids))
    assert torch.equal(model(ids), quiet.train()(ids))
    assert not torch.equal(model.train()(ids), model(ids))


def test_embedding_dropout_acts_on_token_and_place_together() -> None:
    model, ids = tiny_model(embedding_dropout=0.5), tiny_ids()
    seen: list[Tensor] = []
    model.blocks[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    model(ids)
    model.train()(ids)
    quiet, dropped = seen
    assert torch.equal(quiet, model.position(model.token(ids), torch.arange(T)))
    assert set((dropped / quiet).round().unique().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("tied", [True, False])
def test_head_bias_is_added_to_the_logits(tied: bool) -> None:
    model, ids = tiny_model(tied=tied, head_bias=True), tiny_ids()
    before, shift = model(ids), torch.randn(V, dtype=torch.float64)
    assert model.head_bias is not None
    with torch.no_grad():
        model.head_bias.add_(shift)
    torch.testing.assert_close(model(ids), before + shift, rtol=0, atol=1e-13)
    as_built = parameter(Transformer(tiny_config(tied=tied, head_bias=True)), "head_bias")
    assert as_built.tolist() == [0.0] * V


def test_without_attention_tokens_do_not_meet() -> None:
    model, ids = tiny_model(attention={"kind": "none"}), tiny_ids()
    other = ids.clone()
    other[1, 2] = (ids[1, 2] + 1) % V
    moved = (model(other) != model(ids)).any(dim=-1)
    assert moved.nonzero().tolist() == [[1, 2]]
