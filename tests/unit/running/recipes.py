"""Small recipes whose training takes a moment."""

from typing import Any

from blockproof.model.nested import with_values
from blockproof.model.recipe import Recipe

VALUES: dict[str, Any] = {
    "model": {
        "context": 5,
        "d_model": 8,
        "n_layers": 2,
        "embedding_dropout": 0.2,
        "attention": {"n_heads": 2, "dropout": 0.2},
    },
    "train": {
        "steps": 9,
        "batch_size": 6,
        "lr": 0.01,
        "warmup": 2,
        "schedule": "cosine",
        "log_every": 2,
        "eval_every": 4,
    },
    "data": {"source": "order", "symbols": 4, "asked": 3, "validation_windows": 10},
    "seed": 3,
}


def small(**changes: Any) -> Recipe:
    """The recipe with values at some paths set; dots are written as double underscores."""
    return Recipe.from_dict(
        with_values(VALUES, {key.replace("__", "."): each for key, each in changes.items()})
    )
