"""AdamW with weight decay on matrices only. Loshchilov and Hutter 2019."""

from typing import TYPE_CHECKING

from torch import nn
from torch.optim import AdamW

if TYPE_CHECKING:
    from blockproof.model.train import TrainConfig


def make_optimizer(model: nn.Module, config: "TrainConfig") -> AdamW:
    """Every trainable parameter in exactly one group: matrices decay, gains, shifts and biases do not.

    A tied matrix is one parameter and stands in its group once.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    # foreach: one kernel for all tensors of a group, the same arithmetic as one by one
    return AdamW(groups, lr=config.lr, betas=(config.beta1, config.beta2), eps=config.eps, foreach=True)
