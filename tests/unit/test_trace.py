"""The look inside: every stage in order, the weights of the layers, and nothing left behind."""

from typing import Any

import pytest
import torch
from torch import nn

from blockproof.model.attention import CausalSelfAttention
from blockproof.model.trace import attention_weights, stages
from blockproof.model.transformer import InputError
from blockproof.tests.helpers import B, D, H, N, T, V, tiny_ids, tiny_model


def test_stages_in_the_order_of_the_data() -> None:
    model = tiny_model()
    seen = stages(model, tiny_ids())
    names = [stage.name for stage in seen]
    first_block = [name for name in names if name.startswith("blocks.0.attention")]
    assert first_block == [
        "blocks.0.attention.norm",
        "blocks.0.attention.sublayer.qkv",
        "blocks.0.attention.sublayer.output",
        "blocks.0.attention.sublayer.output_dropout",
        "blocks.0.attention.sublayer",
        "blocks.0.attention.residual.dropout",
        "blocks.0.attention.residual",
        "blocks.0.attention",
    ]
    assert names[:3] == ["token", "position.table", "position"]
    assert names[-2:] == ["norm", "model"]
    assert names.index("blocks.0") < names.index("blocks.1.attention.norm")


def test_stages_tell_shape_and_size() -> None:
    model = tiny_model()
    by_name = {stage.name: stage for stage in stages(model, tiny_ids())}
    assert by_name["token"].shape == (B, T, D)
    assert by_name["blocks.1.feedforward.sublayer.up"].shape == (B, T, 4 * D)
    assert by_name["model"].shape == (B, T, V)
    assert by_name["model"].parameters == sum(parameter.numel() for parameter in model.parameters())
    assert by_name["blocks.0.attention.sublayer.qkv"].parameters == 3 * D * (D + 1)
    assert by_name["blocks.0.attention"].kind == "PreNorm"


def test_weights_are_those_of_each_layer() -> None:
    model, ids = tiny_model(), tiny_ids()
    inputs: list[tuple[Any, ...]] = []
    attentions = [module for module in model.modules() if isinstance(module, CausalSelfAttention)]

    def keep(module: nn.Module, args: tuple[Any, ...]) -> None:
        inputs.append(args)

    handles = [module.register_forward_pre_hook(keep) for module in attentions]
    model(ids)
    for handle in handles:
        handle.remove()
    weights = attention_weights(model, ids)
    assert weights.shape == (N, B, H, T, T)
    for layer, attention, args in zip(weights, attentions, inputs, strict=True):
        assert torch.equal(layer, attention.explicit(*args)[1])
    assert not torch.allclose(weights[0], weights[1])
    assert not weights.requires_grad


@pytest.mark.parametrize("look", [stages, attention_weights])
def test_leaves_nothing_behind(look: type) -> None:
    model, ids = tiny_model(), tiny_ids()
    before = model(ids)
    look(model, ids)
    with pytest.raises(InputError):
        look(model, tiny_ids(length=T + 1))
    assert not any(module._forward_hooks for module in model.modules())
    assert torch.equal(model(ids), before)
