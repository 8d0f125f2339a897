"""Parameters by part, counted on the meta device, beside the formula for the blocks; and what they cost."""

from dataclasses import dataclass

import torch
from torch import nn

from blockproof.model.config import ModelConfig
from blockproof.model.norm import NORMS
from blockproof.model.transformer import Transformer

PARTS = ("token embedding", "position", "attention", "feed-forward", "norms", "residuals", "head")


@dataclass(frozen=True)
class Count:
    """How many parameters a model has.

    Attributes:
        config: the model's.
        parts: by part, in the order of ``PARTS``. A tied head adds only its bias, if it has one: its
            matrix is the token embedding.
        blocks: the weights, biases, gains and shifts of all blocks.
    """

    config: ModelConfig
    parts: dict[str, int]
    blocks: int

    @property
    def total(self) -> int:
        """All parameters, each shared one counted once."""
        return sum(self.parts.values())

    @property
    def formula(self) -> int:
        """12 N D², the usual estimate of ``blocks``: 4 D² for attention, 8 D² for the feed-forward."""
        return 12 * self.config.n_layers * self.config.d_model**2

    @property
    def formula_error(self) -> float:
        """(formula - blocks) / blocks; with GPT-2's biases and shifts exactly -13 / (12 D + 13)."""
        return (self.formula - self.blocks) / self.blocks

    @property
    def total_error(self) -> float:
        """(formula - total) / total: how far the estimate of the blocks is off as one of the model."""
        return (self.formula - self.total) / self.total


def count(config: ModelConfig) -> Count:
    """Build the model without memory and count it; any size takes about a second at most."""
    model = on_meta(config)
    parts = dict.fromkeys(PARTS, 0)
    for name, module in model.named_modules():
        for own, parameter in module.named_parameters(recurse=False):
            parts[_part(module, f"{name}.{own}".removeprefix("."))] += parameter.numel()
    return Count(config, parts, sum(parameter.numel() for parameter in model.blocks.parameters()))


def on_meta(config: ModelConfig) -> Transformer:
    """The model with shapes but without memory; torch's random state, from which a model draws, is left alone."""
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        return Transformer(config)


@dataclass(frozen=True)
class Cost:
    """What a model takes at its full context.

    Attributes:
        forward: floating-point operations of one token's forward pass, on average over the context;
            a multiplication and an addition are two. Matrix products alone, scores of masked keys
            included, as a dense kernel computes them.
        training: the same with the backward pass, which takes two products for each of the forward's.
        weights: bytes in float32.
        adam: bytes of weights, gradients and both moments of AdamW in float32; activations not included.
        cache: bytes of the keys and values of one whole context in float32.
    """

    forward: int
    training: int
    weights: int
    adam: int
    cache: int


def cost(counted: Count) -> Cost:
    """Worked out from the sizes; a test holds ``forward`` against the operations that torch counts."""
    config = counted.config
    attention, layers = config.attention.kind != "none", config.n_layers
    matrices = _matrices(config)
    mixing = 2 * config.context * config.d_model * layers if attention else 0  # scores, and the mean of v
    forward = 2 * (matrices + mixing)
    cache = 2 * layers * config.d_kv * config.context * 4 if attention else 0
    return Cost(forward, 3 * forward, 4 * counted.total, 16 * counted.total, cache)


def _matrices(config: ModelConfig) -> int:
    """Elements of all matrices that each token is multiplied with, the head's included."""
    layers = [m for m in on_meta(config).blocks.modules() if isinstance(m, nn.Linear)]
    return sum(layer.weight.numel() for layer in layers) + config.vocab_size * config.d_model


def _part(module: nn.Module, name: str) -> str:
    """The part that a module's own parameter of this name belongs to."""
    if isinstance(module, tuple(NORMS.values())):
        return "norms"
    path = name.split(".")
    owner = path[0] if path[0] != "blocks" else path[3] if path[3] == "residual" else path[2]
    return {
        "token": "token embedding",
        "position": "position",
        "attention": "attention",
        "feedforward": "feed-forward",
        "residual": "residuals",
        "head": "head",
        "head_bias": "head",
    }[owner]
