"""Claims about dropout: where it may stand."""

from typing import Any

import torch
from torch import Tensor

from blockproof.model.transformer import Transformer
from blockproof.tests.claims.claim import FAILS, HOLDS, Claim, Found
from blockproof.tests.claims.measuring import rms, verdict
from blockproof.tests.helpers import merged, tiny_config

RATE, DEEP, DRAWS = 0.1, 12, 4
PLACES: dict[str, dict[str, Any]] = {
    "weights": {"attention": {"dropout": RATE}},
    "feedforward": {"feedforward": {"dropout": RATE}},
    "output": {"attention": {"output_dropout": RATE}},
    "embedding": {"embedding_dropout": RATE},
    "stream": {"residual": {"dropout": RATE}},
}


def noise(place: str, n_layers: int, placement: str = "pre") -> float:
    """Behind a stack as built: the mean square of what dropout changes, over that of the clean stream."""
    usual = {
        "d_model": 64,
        "n_layers": n_layers,
        "context": 16,
        "position": "none",
        "init": "xavier",
        "attention": {"n_heads": 4},
        "norm": {"placement": placement},
    }
    torch.manual_seed(0)
    model = Transformer(tiny_config(**merged(usual, PLACES[place])))
    x = torch.randn(8, 16, 64)
    clean = through(model.eval(), x)
    noisy = torch.stack([through(model.train(), x) for _ in range(DRAWS)])
    return (rms(noisy - clean) / rms(clean)) ** 2


@torch.no_grad()
def through(model: Transformer, x: Tensor) -> Tensor:
    """From the embedding's dropout to the end of the last block."""
    x = model.dropout(x)
    for block in model.blocks:
        x = block(x, model.position)
    return x


def places() -> Found:
    """Noise at the usual places, beside two more that are said to be wrong."""
    found = {place: noise(place, DEEP) for place in PLACES if place != "stream"}
    return Found(
        verdict(max(found["output"], found["embedding"]) > 1.0),
        "At a rate of {rate}, behind {layers} pre-norm layers as built (Xavier), dropout adds noise of this "
        "share of the signal's power: on the weights {weights:.3f}, on the feed-forward's output "
        "{feedforward:.3f}, on attention's output {output:.3f}, on the embedding {embedding:.3f}.",
        {"rate": RATE, "layers": DEEP, **found},
    )


def on_the_stream() -> Found:
    """Against every other place, with the norm before and behind."""
    stream = {placement: noise("stream", DEEP, placement) for placement in ("pre", "post")}
    others = {
        placement: max(noise(place, DEEP, placement) for place in PLACES if place != "stream")
        for placement in stream
    }
    worst = all(stream[placement] > others[placement] for placement in stream)
    return Found(
        verdict(worst and stream["pre"] > 1.0),
        "At a rate of {rate} on the stream itself, the noise has {one:.2f} times the signal's power behind "
        "one pre-norm layer and {pre:.1f} times behind {layers}, for each layer thins what all before it "
        "wrote; at any other place it is {pre_else:.2f} at most. With post-norm, which scales the stream "
        "anew, it is {post:.2f}, else {post_else:.2f}.",
        {
            **{"rate": RATE, "layers": DEEP, "one": noise("stream", 1)},
            **{"pre": stream["pre"], "pre_else": others["pre"]},
            **{"post": stream["post"], "post_else": others["post"]},
        },
    )


CLAIMS = (
    Claim(
        "A7",
        "dropout may stand behind the softmax and behind the feed-forward, nowhere else",
        FAILS,
        places,
    ),
    Claim("A7, stream", "dropout does not belong on the residual stream itself", HOLDS, on_the_stream),
)
