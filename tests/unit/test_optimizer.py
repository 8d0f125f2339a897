"""Every parameter is trained once, and matrices alone decay."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import AdamW

from blockproof.model.optimizer import make_optimizer
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import tiny_model, tiny_training, without_biases


def make(model: Transformer) -> AdamW:
    return make_optimizer(model, tiny_training(weight_decay=0.3, beta1=0.8, beta2=0.95, eps=1e-7, lr=0.02))


@pytest.mark.parametrize(
    "change", [{}, without_biases(), {"residual": {"kind": "gated"}}, {"position": "t5"}]
)
def test_each_parameter_once(change: dict[str, Any]) -> None:
    model = tiny_model(**change)
    names = {id(p): name for name, p in model.named_parameters()}
    trained = [names[id(p)] for group in make(model).param_groups for p in group["params"]]
    assert sorted(trained) == sorted(names.values())
    assert trained.count("token.weight") == 1


def test_decay_is_for_matrices() -> None:
    model = tiny_model()
    decay = {id(p): group["weight_decay"] for group in make(model).param_groups for p in group["params"]}
    for name, parameter in model.named_parameters():
        flat = name.endswith("bias") or "norm" in name
        assert decay[id(parameter)] == (0.0 if flat else 0.3), name


def test_the_kind_of_module_decides_not_the_shape() -> None:
    """A gain that is stored as a matrix is no matrix, and a matrix of one row is one."""

    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gain = nn.Parameter(torch.ones(1, 4))
            self.row = nn.Linear(4, 1)

    model = Odd()
    optimizer = make_optimizer(model, tiny_training(weight_decay=0.3))
    decay = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    assert [decay[id(p)] for p in (model.gain, model.row.weight, model.row.bias)] == [0.0, 0.3, 0.0]


def test_frozen_parameters_are_left_out() -> None:
    model = tiny_model()
    model.token.weight.requires_grad_(False)
    groups = make(model).param_groups
    assert not any(parameter is model.token.weight for group in groups for parameter in group["params"])


def test_hyperparameters_arrive() -> None:
    for group in make(tiny_model()).param_groups:
        assert (group["lr"], group["betas"], group["eps"]) == (0.02, (0.8, 0.95), 1e-7)


def test_without_gradients_only_decay_moves() -> None:
    """AdamW's decay is apart from the gradient: it multiplies by 1 - lr · decay."""
    model = tiny_model()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    make(model).step()
    for name, parameter in model.named_parameters():
        factor = 1 - 0.02 * 0.3 if parameter.ndim == 2 else 1.0
        torch.testing.assert_close(parameter.detach(), before[name] * factor, rtol=1e-14, atol=0)
