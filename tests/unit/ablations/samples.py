"""Cells that train in milliseconds."""

from functools import cache

from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.cell import Cell
from blockproof.ablations.record import Record
from blockproof.ablations.spec import expand
from blockproof.model.config import ModelConfig
from blockproof.model.parts import AttentionConfig, FeedForwardConfig
from blockproof.model.train_config import TrainConfig

SYMBOLS = 2

TINY = Cell(
    run="train",
    model=ModelConfig(
        vocab_size=2 * SYMBOLS,
        context=SYMBOLS + 1,
        d_model=8,
        n_layers=1,
        attention=AttentionConfig(n_heads=2, dropout=0.1),
        feedforward=FeedForwardConfig(dropout=0.1),
    ).to_dict(),
    train=TrainConfig(steps=3, batch_size=4, lr=1e-2, log_every=1, eval_every=2).to_dict(),
    data={"source": "order", "symbols": SYMBOLS, "asked": 1, "validation_windows": 8},
    seed=0,
)
IMPOSSIBLE = TINY.replace({"model.attention.n_heads": 3})  # 8 cannot be divided among 3 heads
DIVERGING = TINY.replace({"train.lr": 1e30})


def tiny_cells(count: int) -> list[Cell]:
    """The tiny cell with several seeds."""
    return [TINY.replace({"seed": seed}) for seed in range(count)]


def without(cell: Cell, part: str, name: str) -> Cell:
    """The cell as it was described before a field or a part was added."""
    values = cell.to_dict()
    del values[part][name]
    return Cell(**values)


def tiny_record(cell: Cell = TINY, fingerprint: str = "0123456789abcdef") -> Record:
    """A record that nothing has made."""
    return Record(cell, fingerprint, {"ended": "finished", "final_loss": 0.1 + 0.2}, {"seconds": 1.5})


@cache
def cells(name: str, scale: str = "standard") -> list[Cell]:
    """The cells of an ablation, expanded once for all tests."""
    return expand(ABLATIONS[name].spec, scale)
