"""Where NaN or infinity comes up first: a parameter, else an output, else the gradient nearest to the loss."""

import pytest
import torch

from blockproof.model.labels import Batch
from blockproof.model.monitor import first_not_finite
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import T, dropping, parameter, tiny_ids, tiny_model


def trained() -> tuple[Transformer, Batch]:
    """A model with finite gradients, in train mode, and its batch."""
    model, tokens = tiny_model(**dropping(0.5), dtype=torch.float32).train(), tiny_ids(length=T + 1)
    batch = Batch(tokens[:, :-1], tokens[:, 1:])
    model(batch.inputs).square().mean().backward()
    return model, batch


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_a_parameter_is_named_before_what_it_puts_out(value: float) -> None:
    model, batch = trained()
    with torch.no_grad():
        parameter(model, "blocks.1.attention.norm.weight")[0] = value
    assert first_not_finite(model, batch) == "the parameter blocks.1.attention.norm.weight"


def test_the_first_of_all_outputs_is_named() -> None:
    """Every parameter is a number, but the second block puts out more than float32 holds."""
    model, batch = trained()
    with torch.no_grad():
        parameter(model, "blocks.1.attention.norm.weight").fill_(3e38)
    assert first_not_finite(model, batch) == "the output of blocks.1.attention.norm"


def test_a_gradient_is_named_nearest_to_the_loss() -> None:
    """Gradients flow back: what stands before the place has caught it from there."""
    model, batch = trained()
    for name in ("token.weight", "blocks.0.attention.norm.weight", "blocks.1.attention.norm.weight"):
        gradient = parameter(model, name).grad
        assert gradient is not None
        gradient[0] = torch.nan
    assert first_not_finite(model, batch) == "the gradient of block 1"


def test_a_norm_that_overflows_by_itself_is_named() -> None:
    assert first_not_finite(*trained()) == "the gradients' norm"


def test_looking_leaves_everything_as_it_was() -> None:
    model, batch = trained()
    state = torch.get_rng_state()
    first_not_finite(model, batch)
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(module._forward_hooks for module in model.modules())
