"""What can be run: from a cell to its result. Everything here is a pure function of the cell."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from blockproof.ablations.cell import Cell
from blockproof.model.config import ModelConfig
from blockproof.model.history import History
from blockproof.model.schema import ConfigError, hint
from blockproof.model.source import Source, make_source
from blockproof.model.train import train
from blockproof.model.train_config import TrainConfig
from blockproof.model.transformer import Transformer

DIGITS = 9  # significant digits kept: enough to tell any two float32 numbers apart
COLLAPSE_MARGIN = 0.01  # nats; a final loss this close to the blind loss, or above it, is a collapse


def train_run(cell: Cell) -> dict[str, Any]:
    """Train one model; the result has its curves and how it ended. Losses are in nats."""
    config = ModelConfig.from_dict(cell.model)
    source = make_source(cell.data, config.context)
    torch.manual_seed(cell.seed)
    model = Transformer(config)
    history = train(model, source, TrainConfig.from_dict(cell.train), data_seed=cell.seed)
    updates = cell.train["steps"] if history.diverged_at is None else history.diverged_at
    return {
        "ended": how_it_ended(history, source),
        "loss_at_init": history.validation[0].loss if history.validation else None,
        "final_loss": None if history.diverged_at is not None else history.validation[-1].loss,
        "diverged_at": history.diverged_at,
        "blind_loss": source.blind_loss,
        "floor": source.floor,
        "tokens": updates * cell.train["batch_size"] * config.context,
        "training": [list(point) for point in history.training],
        "validation": [list(point) for point in history.validation],
        "layers": [point._asdict() for point in history.layers],
    }


def how_it_ended(history: History, source: Source) -> str:
    """``finished``; ``collapsed`` to the loss of a model that sees no context; or ``diverged``."""
    if history.diverged_at is not None:
        return "diverged"
    collapsed = history.validation[-1].loss > source.blind_loss - COLLAPSE_MARGIN
    return "collapsed" if collapsed else "finished"


# Three tokens in another order before the same last one; and the pair that the textbook offers,
# whose last token differs too, so that any model tells it apart without seeing order.
PAIRS = {"clean": ("ABCD", "BCAD"), "confounded": ("ABCD", "DCBA")}
TOLD_APART = 1e-9  # logits in float64; rounding leaves about 1e-15


def permutation_run(cell: Cell) -> dict[str, Any]:
    """How far the last logits move, at most, when earlier tokens change places; no training.

    Random weights in float64, so that what is exactly equal in theory differs by rounding only.
    """
    torch.manual_seed(cell.seed)
    model = Transformer(ModelConfig.from_dict(cell.model)).double().eval()
    moved = {}
    for name, (one, other) in PAIRS.items():
        assert Counter(one) == Counter(other), "a pair must hold the same tokens"
        with torch.no_grad():
            difference = last_logits(model, one) - last_logits(model, other)
        moved[name] = difference.abs().max().item()
    return {"ended": "finished", "moved": moved}


def last_logits(model: Transformer, letters: str) -> Tensor:
    """Logits (V,) at the last of the letters, which count from A as token 0."""
    ids = torch.tensor([[ord(letter) - ord("A") for letter in letters]])
    return model(ids)[0, -1]


RUNS: dict[str, Callable[[Cell], dict[str, Any]]] = {"train": train_run, "permutation": permutation_run}


def run(cell: Cell) -> dict[str, Any]:
    """The result of a cell, as JSON data."""
    if cell.run not in RUNS:
        raise ConfigError(f"there is no run {cell.run!r}{hint(cell.run, RUNS)}")
    with one_thread():
        result = RUNS[cell.run](cell)
    return {key: rounded(value) for key, value in result.items()}


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread: sums over several differ in their last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def rounded(data: Any) -> Any:
    """JSON data with every float at ``DIGITS`` significant digits."""
    if isinstance(data, float):
        return float(f"{data:.{DIGITS}g}")
    if isinstance(data, dict):
        return {key: rounded(value) for key, value in data.items()}
    return [rounded(value) for value in data] if isinstance(data, list | tuple) else data
