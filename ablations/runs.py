"""What can be run: from a cell to its result. Everything here is a pure function of the cell."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from blockproof.ablations.cell import Cell
from blockproof.ablations.faults import planted_fault
from blockproof.ablations.honest import honest_loss
from blockproof.model.config import ModelConfig
from blockproof.model.generate import generate
from blockproof.model.history import History
from blockproof.model.sampling import Sampling
from blockproof.model.schema import ConfigError, hint
from blockproof.model.source import Source, make_source
from blockproof.model.text import decode, encode
from blockproof.model.train import train
from blockproof.model.train_config import TrainConfig
from blockproof.model.transformer import Transformer

DIGITS = 9  # significant digits kept: enough to tell any two float32 numbers apart
ALONE = Lock()  # torch's random state, its threads and a planted fault are a whole process's
SAMPLE = 240  # characters that a trained model writes
COLLAPSE_MARGIN = 0.01  # nats; a final loss this close to the blind loss, or above it, is a collapse


def train_run(cell: Cell) -> dict[str, Any]:
    """Train one model; the result has its curves and how it ended. Losses are in nats."""
    with planted_fault(cell.fault):
        source = source_of(cell)
        return told(cell, source, trained(cell, source)[1])


def honest_run(cell: Cell) -> dict[str, Any]:
    """The same, and beside the losses that the code reports, faulty as it may be, the last one scored honestly."""
    held_out = source_of(cell).validation()  # shifted before any fault is there
    with planted_fault(cell.fault):
        source = source_of(cell)
        model, history = trained(cell, source)
        result = told(cell, source, history)
        lost = result["final_loss"] is None
        return {**result, "honest_loss": None if lost else honest_loss(model, held_out)}


def sampled_run(cell: Cell) -> dict[str, Any]:
    """The same, and what the trained model writes after a line break."""
    with planted_fault(cell.fault):
        source = source_of(cell)
        model, history = trained(cell, source)
        ids = generate(model, [encode("\n", source.alphabet)], SAMPLE, settings=Sampling(), seed=cell.seed)
        return {**told(cell, source, history), "sample": decode(ids[0][1:], source.alphabet)}


def source_of(cell: Cell) -> Source:
    """The cell's data."""
    return make_source(cell.data, cell.model["context"])


def trained(cell: Cell, source: Source) -> tuple[Transformer, History]:
    """The cell's model at the end of its training."""
    torch.manual_seed(cell.seed)
    model = Transformer(ModelConfig.from_dict(cell.model))
    return model, train(model, source, TrainConfig.from_dict(cell.train), data_seed=cell.seed)


def told(cell: Cell, source: Source, history: History) -> dict[str, Any]:
    """A training as JSON data."""
    updates = cell.train["steps"] if history.diverged_at is None else history.diverged_at
    return {
        "ended": how_it_ended(history, source),
        "loss_at_init": history.validation[0].loss if history.validation else None,
        "final_loss": None if history.diverged_at is not None else history.validation[-1].loss,
        "diverged_at": history.diverged_at,
        "blind_loss": source.blind_loss,
        "floor": source.floor,
        "tokens": updates * cell.train["batch_size"] * cell.model["context"],
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
    moved = {}
    with planted_fault(cell.fault), torch.no_grad():
        torch.manual_seed(cell.seed)
        model = Transformer(ModelConfig.from_dict(cell.model)).double().eval()
        for name, (one, other) in PAIRS.items():
            assert Counter(one) == Counter(other), "a pair must hold the same tokens"
            difference = last_logits(model, one) - last_logits(model, other)
            moved[name] = difference.abs().max().item()
    return {"ended": "finished", "moved": moved}


def last_logits(model: Transformer, letters: str) -> Tensor:
    """Logits (V,) at the last of the letters, which count from A as token 0."""
    ids = torch.tensor([[ord(letter) - ord("A") for letter in letters]])
    return model(ids)[0, -1]


RUNS: dict[str, Callable[[Cell], dict[str, Any]]] = {
    "train": train_run,
    "honest": honest_run,
    "sampled": sampled_run,
    "permutation": permutation_run,
}


def run(cell: Cell) -> dict[str, Any]:
    """The result of a cell, as JSON data."""
    if cell.run not in RUNS:
        raise ConfigError(f"there is no run {cell.run!r}{hint(cell.run, RUNS)}")
    with ALONE, one_thread():
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
