"""The report's section on the model: its stages with real shapes, and its parameters."""

from typing import NamedTuple

import torch

from blockproof.model.config import ModelConfig
from blockproof.model.trace import Stage, stages
from blockproof.model.transformer import Transformer


class Step(NamedTuple):
    """A stage as the report opens it: its title, its path in the model, and what it is for."""

    title: str
    path: str
    purpose: str


# The data's way through the model; the first block stands for all.
STEPS = (
    Step("Token embedding", "token", "looks up one vector for each token id; also serves as the head"),
    Step("Position", "position", "tells each token its place"),
    Step("Block: norm", "blocks.0.attention.norm", "gives attention inputs of one scale"),
    Step(
        "Block: attention",
        "blocks.0.attention.sublayer",
        "moves information from earlier tokens to later ones",
    ),
    Step("Block: residual", "blocks.0.attention.residual", "carries the stream past attention"),
    Step("Block: norm", "blocks.0.feedforward.norm", "gives the feed-forward inputs of one scale"),
    Step("Block: feed-forward", "blocks.0.feedforward.sublayer", "transforms each token by itself"),
    Step("Block: residual", "blocks.0.feedforward.residual", "carries the stream past the feed-forward"),
    Step("Final norm", "norm", "sets the scale of the stream before the head"),
    Step("Head", "model", "scores every token of the vocabulary as the next one"),
)


def opened(config: ModelConfig, batch: int) -> list[tuple[Step, Stage]]:
    """Every step with what a forward pass of ids (batch, context) showed at it."""
    with torch.device("meta"):
        ids = torch.zeros(batch, config.context, dtype=torch.long)
        seen = {stage.name: stage for stage in stages(Transformer(config), ids)}
    return [(step, seen[step.path]) for step in STEPS]
