"""Records for a whole report that nothing has trained: plausible, seeded, and there in no time.

They have every trait that a report tells: variants that differ beyond doubt, a rate at which each
norm placement breaks, collapsed and diverged runs, and values that are all different.
"""

import math
import random
from functools import cache
from typing import Any

from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.cell import Cell
from blockproof.ablations.fingerprint import fingerprint
from blockproof.ablations.record import Record
from blockproof.tests.unit.ablations.samples import cells

TEXT_BLIND = 3.3
SWAPPED = {
    "rmsnorm": 0.001,
    "sinusoidal": 0.05,
    "rope": -0.04,
    "alibi": -0.03,
    "t5": -0.02,
    "relu": 0.01,
    "swiglu": -0.06,
}
FAULTY = {  # what a fault adds to the loss that is reported, and to the honest one; those left out collapse
    "none": (0.0, 0.0), "no shift": (-2.2, 6.0), "double shift": (0.4, 0.6), "no mask": (-1.9, 3.0),
    "mask transposed": (-2.0, 4.0), "wrong scale": (0.01, 0.01), "dropout in eval": (0.0, 0.01),
    "no residual": (0.6, 0.6), "no positions": (0.2, 0.2),
}  # fmt: skip
LOST = (0.0, 2.0)
STEEP = {"no residual": 8.0, "softmax twice": 0.02}  # by how much gradients are larger
BREAKS_FROM = {  # by placement, with warm-up or not, with a tied head or not
    ("pre", False, True): 2e-2, ("pre", True, True): 2e-2, ("pre", False, False): 5e-3,
    ("post", False, True): 2e-4, ("post", True, True): 2e-3, ("post", False, False): 2e-3,
}  # fmt: skip


@cache
def records(name: str, scale: str = "standard") -> list[Record]:
    """A record for every cell of an ablation."""
    return [fabricate(cell, random.Random(index)) for index, cell in enumerate(cells(name, scale))]


def everything(scale: str = "standard") -> list[Record]:
    """The records of all ablations."""
    return [record for name in ABLATIONS for record in records(name, scale)]


def fabricate(cell: Cell, chance: random.Random) -> Record:
    """A record of this cell, under the fingerprint that a store would look for."""
    result = _permuted(cell, chance) if cell.run == "permutation" else _trained(cell, chance)
    if cell.run == "honest":
        reported, honest = FAULTY.get(cell.fault, LOST)
        result["honest_loss"] = result["final_loss"] + honest - reported + chance.gauss(0, 0.002)
    if cell.run == "sampled":
        result["sample"] = "To be, or not to be:\nthat is the question"
    observed = {
        "seconds": round(chance.uniform(5, 15), 3), "processor": "Fabricated CPU 3000", "system": "Linux",
        "python": "3.11.9", "torch": "2.13.0", "commit": "0123456789ab",
    }  # fmt: skip
    return Record(cell, fingerprint(cell), result, observed)


def layer_names(layers: int) -> list[str]:
    """As the monitor names them."""
    return ["embedding", *(f"block {i}" for i in range(layers)), "final norm"]


def _trained(cell: Cell, chance: random.Random) -> dict[str, Any]:
    blind = TEXT_BLIND if cell.data["source"] == "text" else math.log(cell.data["symbols"])
    start = blind + chance.uniform(0.8, 1.0)
    ended = _ended(cell)
    final = {"finished": _loss(cell, blind) + chance.gauss(0, 0.002), "collapsed": blind, "diverged": None}[
        ended
    ]
    steps = range(0, cell.train["steps"], cell.train["eval_every"])
    falling = [[step, start - (start - (final or start)) * step / cell.train["steps"]] for step in steps]
    return {
        "ended": ended,
        "loss_at_init": start,
        "final_loss": final,
        "diverged_at": 7 if ended == "diverged" else None,
        "blind_loss": blind,
        "floor": 0.0 if cell.data["source"] == "order" else None,
        "tokens": 1000,
        "training": [
            [s, v, cell.train["lr"], STEEP.get(cell.fault, 1.0) * chance.lognormvariate(0, 0.5)]
            for s, v in falling
        ],
        "validation": [*falling, *([[cell.train["steps"], final]] if final else [])],
        "layers": [_layers(cell, step, chance) for step in steps],
    }


def _ended(cell: Cell) -> str:
    """Runs break from a rate on that their placement, warm-up and depth decide."""
    model, lr = cell.model, cell.train["lr"]
    if cell.fault not in FAULTY:
        return "collapsed"
    breaks_from = BREAKS_FROM[model["norm"]["placement"], cell.train["warmup"] > 0, model["tied"]]
    if cell.data["source"] == "order" or lr < breaks_from:
        bare_and_deep = model["residual"]["kind"] == "none" and model["n_layers"] > 2
        return "collapsed" if bare_and_deep and lr > 2e-3 else "finished"
    return "diverged" if model["norm"]["placement"] == "pre" else "collapsed"


def _loss(cell: Cell, blind: float) -> float:
    """Of a run that finished: lowest near 1e-3, higher without some part."""
    model = cell.model
    if cell.data["source"] == "order" and model["position"] == "none":
        return 0.1 if model["n_layers"] > 1 and cell.data["asked"] == 1 else blind
    if cell.data["source"] == "order":
        return 0.02
    penalty = (
        FAULTY.get(cell.fault, LOST)[0]
        + 0.2 * (model["position"] == "none")
        + 0.3 * (model["norm"]["placement"] == "post")
    )
    penalty += 0.1 * (not model["tied"]) + SWAPPED.get(model["norm"]["kind"], 0.0)
    penalty += SWAPPED.get(model["feedforward"]["kind"], 0.0) + SWAPPED.get(model["position"], 0.0)
    penalty += 0.01 * abs(math.log2(model["attention"]["n_heads"] / 4))
    penalty += (0.05 if model["n_layers"] == 2 else 0.4) * (model["residual"]["kind"] == "none")
    return blind - 1 + penalty + 0.2 * abs(math.log10(cell.train["lr"] / 1e-3))


def _layers(cell: Cell, step: int, chance: random.Random) -> dict[str, Any]:
    names = layer_names(cell.model["n_layers"])
    measures = ("grad_norm", "activation_rms", "likeness")
    return {"step": step, **{key: {name: chance.uniform(0.2, 0.9) for name in names} for key in measures}}


def _permuted(cell: Cell, chance: random.Random) -> dict[str, Any]:
    blind = cell.model["position"] == "none" and cell.model["n_layers"] == 1
    clean = chance.uniform(1e-16, 9e-16) if blind else chance.uniform(0.5, 0.9)
    return {"ended": "finished", "moved": {"clean": clean, "confounded": chance.uniform(1, 2)}}
