"""The whole model: what it computes, what it shares, and what it refuses."""

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from blockproof.model.transformer import Block, InputError, Transformer
from blockproof.tests.helpers import B, D, H, N, T, V, gradients, randomise, tiny_config, tiny_ids, tiny_model
from blockproof.tests.reference import transformer, weights_of

VARIANTS = list(product(("pre", "post"), ("add", "none"), ("learned", "none"), (True, False), (True, False)))


@pytest.mark.parametrize(("placement", "residual", "position", "bias", "tied"), VARIANTS)
def test_matches_the_reference(placement: str, residual: str, position: str, bias: bool, tied: bool) -> None:
    fields: dict[str, Any] = {
        "placement": placement,
        "residual": residual,
        "position": position,
        "bias": bias,
        "norm_bias": bias,
        "tied": tied,
    }
    model = tiny_model(**fields)
    ids = tiny_ids(length=T - 1)
    expected = transformer(ids.numpy(), weights_of(model), H, placement, residual)
    assert expected.shape == (B, T - 1, V)
    torch.testing.assert_close(model(ids), torch.from_numpy(expected), rtol=1e-11, atol=1e-11)


WRONG = {
    "too long": (torch.zeros(2, 9, dtype=torch.int64), "has 9 tokens, the context holds 7"),
    "id too large": (torch.tensor([[0, 1], [2, 11]]), r"token id 11 is outside the vocabulary 0 … 10"),
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
    post = Transformer(tiny_config(context=16, placement="post"))
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
    block = randomise(Block(tiny_config(placement=placement, residual=residual)))
    x = torch.randn(B, T, D)
    assert block(x).shape == x.shape
    assert not torch.equal(block(x), x)


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
    model, ids = tiny_model(dropout=0.5), tiny_ids()
    quiet = tiny_model()
    quiet.load_state_dict(model.state_dict())
    assert torch.equal(model(ids), model(ids))
    assert torch.equal(model(ids), quiet.train()(ids))
    assert not torch.equal(model.train()(ids), model(ids))
