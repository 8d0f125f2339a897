"""How large published models are, counted from their configs; and what one change makes of the smallest."""

from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
import yaml
from matplotlib.figure import Figure

from blockproof.ablations.frame import Frame
from blockproof.ablations.views import style
from blockproof.model.config import ModelConfig, preset
from blockproof.model.count import PARTS, count
from blockproof.model.nested import with_values

NAME = "sizes"
BASE = "gpt2-124m"  # what is changed
NO_BIASES = {"attention.qkv_bias": False, "attention.output_bias": False, "feedforward.bias": False}
CHANGES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no bias in linear layers": NO_BIASES,
    "and no shift in any norm": {**NO_BIASES, "norm.bias": False},
    "RMSNorm": {"norm.kind": "rmsnorm"},
    "no positions to be learnt": {"position": "rope"},
    "a head of its own": {"tied": False},
    "half of the heads, twice as wide": {"attention.n_heads": 6},
    "keys and values in groups of four heads": {"attention.n_kv_heads": 3},
    "SwiGLU, its width matched": {"feedforward.kind": "swiglu"},
    "no attention": {"attention": {"kind": "none"}},
    "no feed-forward": {"feedforward": {"kind": "none"}},
    "no norm in the blocks": {"norm.placement": "none"},
}


class Publication(NamedTuple):
    """A model as published; a rounded number of parameters is only near the true one."""

    preset: str
    name: str
    parameters: int
    rounded: bool = False


def publications() -> list[Publication]:
    """Those in ``published.yaml``."""
    text = (resources.files("blockproof.report") / "published.yaml").read_text("utf-8")
    return [Publication(**entry) for entry in yaml.safe_load(text)]


def models() -> Frame:
    """One row a published model: sizes, parameters in all, in blocks and by part, 12 N D² and its errors."""
    return pd.DataFrame([{**model._asdict(), **_numbers(preset(model.preset))} for model in publications()])


def changes() -> Frame:
    """One row a change of ``BASE``: its parameters, and how many more than before."""
    base = preset(BASE)
    rows = [
        {"change": words, **_numbers(ModelConfig.from_dict(with_values(base.to_dict(), change)))}
        for words, change in CHANGES.items()
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(
        more=frame["total"] - frame["total"].iloc[0], more_in_blocks=frame["blocks"] - frame["blocks"].iloc[0]
    )


def data_files() -> dict[str, str]:
    """File name to CSV text."""
    frames = {f"{NAME}.csv": models(), f"{NAME}-changes.csv": changes()}
    return {name: rows.to_csv(index=False, float_format="%.6g") for name, rows in frames.items()}


def figure() -> Figure:
    """The share of each part in each model, as bars of equal length."""
    rows, colours = models().iloc[::-1], style.parts(PARTS)
    drawn, axes = plt.subplots(figsize=(9.5, 3.9), layout="constrained")
    left = pd.Series(0.0, index=rows.index)
    for part in PARTS:
        share = 100 * rows[part] / rows["total"]
        if share.max() > 0:
            axes.barh(rows["name"], share, left=left, label=part, color=colours[part], height=0.75)
        left += share
    axes.set(xlim=(0, 100), xlabel="share of all parameters (%)")
    axes.grid(visible=False, axis="y")
    drawn.legend(loc="outside upper center", ncols=len(PARTS), fontsize="small", frameon=False)
    return drawn


@cache
def _counted(config: ModelConfig) -> dict[str, Any]:
    counted = count(config)
    return {
        "n_layers": config.n_layers,
        "d_model": config.d_model,
        "grouped": config.d_kv < config.d_model,
        "d_ff": config.d_ff,
        **counted.parts,
        "blocks": counted.blocks,
        "total": counted.total,
        "formula": counted.formula,
        "formula_error": counted.formula_error,
        "total_error": counted.total_error,
    }


def _numbers(config: ModelConfig) -> dict[str, Any]:
    return dict(_counted(config))
