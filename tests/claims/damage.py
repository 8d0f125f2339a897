"""A claim about residuals in a trained stack: what is left when one layer is taken out or scrambled."""

import copy
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from blockproof.model.config import ModelConfig
from blockproof.model.evaluate import evaluate
from blockproof.model.source import Source, make_source
from blockproof.model.train import train
from blockproof.model.train_config import TrainConfig
from blockproof.model.transformer import Transformer
from blockproof.tests.claims.claim import Claim, Found
from blockproof.tests.claims.measuring import verdict

STEPS = 120
LATER = "the layer is not the first"
SEEDS, LAYERS, CONTEXT = 3, 3, 8
LEARNT, SURVIVES = 0.05, 0.25  # nats; a share of what was learnt
DATA = {"source": "markov", "symbols": 8, "order": 1, "validation_windows": 64}
TRAINING = TrainConfig(
    steps=STEPS, batch_size=16, lr=3e-3, warmup=20, schedule="cosine", eval_every=STEPS, log_every=STEPS
)


class Skip(nn.Module):
    """In place of a block: hands on what it gets."""

    def forward(self, x: Tensor, *beside: Any) -> Tensor:
        return x


def delete(model: Transformer, layer: int) -> Transformer:
    """Take a block out."""
    model.blocks[layer] = Skip()
    return model


def scramble(model: Transformer, layer: int) -> Transformer:
    """Shuffle the elements within each parameter of a block."""
    with torch.no_grad():
        for parameter in model.blocks[layer].parameters():
            parameter.copy_(parameter.flatten()[torch.randperm(parameter.numel())].view_as(parameter))
    return model


def trained(residual: str, source: Source, seed: int) -> Transformer:
    """A small stack, trained to guess the next symbol of a chain from the one before."""
    torch.manual_seed(seed)
    config = {
        "vocab_size": source.vocab_size,
        "context": CONTEXT,
        "d_model": 32,
        "n_layers": LAYERS,
        "position": "alibi",
        "init": "xavier",
        "tied": False,
        "attention": {"n_heads": 4},
        "residual": {"kind": residual},
    }
    model = Transformer(ModelConfig.from_dict(config))
    train(model, source, TRAINING, seed)
    return model


DAMAGES = (delete, scramble)


def survival(residual: str) -> tuple[dict[int, list[float]], float]:
    """By layer, for each damage: the share of what was learnt that is left, a mean over seeds.

    Below 0 the model is worse than one without any context. Beside it, what was learnt: nats, the least of all seeds.
    """
    source = make_source(DATA, CONTEXT)
    left: dict[int, list[list[float]]] = {layer: [] for layer in range(LAYERS)}
    learnt = []
    for seed in range(SEEDS):
        model = trained(residual, source, seed)
        learnt.append(gain(model, source))
        for layer, each in left.items():
            hurt = [damage(copy.deepcopy(model), layer) for damage in DAMAGES]
            each.append([gain(other, source) / learnt[-1] for other in hurt])
    means = {layer: [mean(seeds) for seeds in zip(*each, strict=True)] for layer, each in left.items()}
    return means, min(learnt)


def gain(model: Transformer, source: Source) -> float:
    """Nats better than the best model without context."""
    return source.blind_loss - evaluate(model, source.validation())


def damaged() -> Found:
    """Each layer by itself, in stacks with residuals and without, both of which have learnt."""
    (joined, learnt), (bare, learnt_bare) = survival("add"), survival("none")
    kept = [min(shares) > SURVIVES for shares in joined.values()]
    lost = max(max(shares) for shares in bare.values())
    sound = min(learnt, learnt_bare) > LEARNT and lost < SURVIVES
    later = [share for layer in range(1, LAYERS) for share in joined[layer]]
    return Found(
        verdict(sound and all(kept), LATER, sound and all(kept[1:])),
        "Stacks of {layers} layers, {seeds} seeds each, have learnt {learnt:.2f} nats or more with "
        "residuals and {learnt_bare:.2f} without. With them, deleting or scrambling a layer behind the "
        "first leaves {low:.2f} to {high:.2f} of this, of the first one {first:.2f} at most. Without them "
        "nothing is left, whichever layer it is: {lost:.2f} at most, below what a model without context has.",
        {
            **{"layers": LAYERS, "seeds": SEEDS, "learnt": learnt, "learnt_bare": learnt_bare},
            **{"low": min(later), "high": max(later), "first": max(joined[0]), "lost": lost},
        },
    )


CLAIMS = (
    Claim("D9", "with residuals, what was learnt survives a damaged layer", f"holds when {LATER}", damaged),
)
