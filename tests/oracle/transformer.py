"""The transformer again, in NumPy and float64, written from the formulas; configs are plain data."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockproof.tests.oracle.attention import attention
from blockproof.tests.oracle.feedforward import FEEDFORWARDS
from blockproof.tests.oracle.norm import NORMS, norm
from blockproof.tests.oracle.position import BIASES, EMBEDDED
from blockproof.tests.oracle.weights import Array, Weights, linear, part

Branch = Callable[[Array], Array]

PLACEMENTS = ("pre", "post", "sandwich", "deepnorm", "none")
RESIDUALS = ("add", "none", "gated")
POSITIONS = (*EMBEDDED, *BIASES, "rope", "none")


def lacking(config: dict[str, Any]) -> str | None:
    """The first variant that there is no formula for, in words; None if all are known."""
    known = {
        "feed-forward": (config["feedforward"]["kind"], (*FEEDFORWARDS, "none")),
        "norm": (config["norm"]["kind"], NORMS),
        "placement": (config["norm"]["placement"], PLACEMENTS),
        "residual": (config["residual"]["kind"], RESIDUALS),
        "position": (config["position"], POSITIONS),
        "attention": (config["attention"]["kind"], ("fused", "separate", "none")),
    }
    for part_name, (kind, formulas) in known.items():
        if kind not in formulas:
            return f"the oracle has no formula for {part_name} {kind!r}: add it in tests/oracle"
    return None


def sublayer(x: Array, w: Weights, f: Branch, config: dict[str, Any]) -> Array:
    """A sub-layer with its norm and its residual."""

    def normed(y: Array, name: str = "norm.") -> Array:
        return norm(y, part(w, name), config["norm"]["kind"], config["norm"]["eps"])

    def joined(carried: Array, branch: Array) -> Array:
        kind = config["residual"]["kind"]
        return branch if kind == "none" else carried + branch * w.get("residual.gate", np.array(1.0))

    return {
        "pre": lambda: joined(x, f(normed(x))),
        "post": lambda: normed(joined(x, f(x))),
        "sandwich": lambda: joined(x, normed(f(normed(x)), "branch_norm.")),
        "deepnorm": lambda: normed(joined((2 * config["n_layers"]) ** (1 / 4) * x, f(x))),
        "none": lambda: joined(x, f(x)),
    }[config["norm"]["placement"]]()


def transformer(ids: NDArray[np.int64], w: Weights, config: dict[str, Any]) -> Array:
    """Logits (B, T, V), from ids (B, T)."""
    x, places = w["token.weight"][ids], part(w, "position.")
    if config["position"] in EMBEDDED:
        for b, t in np.ndindex(ids.shape):
            x[b, t] = EMBEDDED[config["position"]](x[b, t], t, places)
    for i in range(config["n_layers"]):
        attend, feed = part(w, f"blocks.{i}.attention."), part(w, f"blocks.{i}.feedforward.")
        if config["attention"]["kind"] != "none":
            x = sublayer(x, attend, _attention(part(attend, "sublayer."), config, places), config)
        if config["feedforward"]["kind"] != "none":
            x = sublayer(x, feed, _feedforward(part(feed, "sublayer."), config), config)
    if config["norm"]["final"]:
        x = norm(x, part(w, "norm."), config["norm"]["kind"], config["norm"]["eps"])
    head = w["token.weight"] if config["tied"] else w["head.weight"]
    bias = {"bias": w["head_bias"]} if config["head_bias"] else {}
    return linear(x, {"weight": head, **bias})


def _attention(w: Weights, config: dict[str, Any], places: Weights) -> Branch:
    return lambda y: attention(y, w, config, places)[0]


def _feedforward(w: Weights, config: dict[str, Any]) -> Branch:
    return lambda y: FEEDFORWARDS[config["feedforward"]["kind"]](y, w)
