"""AdamW with weight decay on matrices only. Loshchilov and Hutter 2019."""

from torch import nn
from torch.optim import AdamW

from blockproof.model.train_config import TrainConfig

DECAYED = (nn.Linear, nn.Embedding)  # modules whose weight is a matrix that multiplies or looks up


def make_optimizer(model: nn.Module, config: TrainConfig) -> AdamW:
    """Every trainable parameter in exactly one group; a tied matrix is one parameter.

    The kind of the module that owns a parameter decides, not its name or shape: weights of linear layers
    and embeddings decay; gains, shifts, biases, gates and whatever else there is do not.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = {id(module.weight) for module in model.modules() if isinstance(module, DECAYED)}
    groups = [
        {"params": [p for p in trained if id(p) in matrices], "weight_decay": config.weight_decay},
        {"params": [p for p in trained if id(p) not in matrices], "weight_decay": 0.0},
    ]
    # foreach: one kernel for all tensors of a group, the same arithmetic as one by one
    return AdamW(groups, lr=config.lr, betas=(config.beta1, config.beta2), eps=config.eps, foreach=True)
