"""Bugs that people reported in public of small GPT-like decoders, by id: where, and of which class."""

from functools import cache
from importlib import resources

import yaml

CLASSES = {
    "A": "causal mask: direction, offset, polarity, order",
    "B": "masked rows and fill values",
    "C": "padding and position ids in a batch",
    "D": "labels and loss",
    "E": "scale, heads, grouped heads",
    "F": "dropout and modes",
    "G": "positions and rotary embedding",
    "H": "key and value cache",
    "I": "weight tying",
    "J": "registration, optimizer groups, AdamW",
    "K": "accumulation, clipping, zeroing",
    "L": "learning-rate schedule",
    "M": "data, splits, seeds",
    "N": "evaluation",
    "O": "initialisation",
    "P": "norms and residual placement",
    "Q": "in-place operations and autograd",
    "R": "checkpoints and resume",
    "S": "generation",
    "T": "input bounds",
    "U": "counting and fair comparison",
    "V": "precision, determinism, batch dependence",
    "W": "notebooks",
    "X": "tests and benchmarks themselves",
    "Y": "feed-forward and activation",
    "Z": "reported, and no bug: what must stay green",
}


@cache
def rows() -> dict[str, tuple[str, ...]]:
    """The sources of every report, ``owner/repo#N`` or an address, by its id, such as ``A01``."""
    text = (resources.files("blockproof.tests.mutants") / "catalogue.yaml").read_text("utf-8")
    return {row: tuple(sources) for row, sources in yaml.safe_load(text).items()}
