"""Claims about dropout at inference: what is multiplied, what is averaged, what forgets to switch it off."""

from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.tests.claims.claim import FAILS, HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, apart, rms, verdict
from blockproof.tests.helpers import B, D, H, T, tiny_ids, tiny_model

FEATURES = range(4, 9)
LINEAR = "what follows the dropout is linear"


def at_inference() -> Found:
    """The factor that each mode multiplies with, for several rates; and the model with dropout in eval mode."""
    ones, rates = torch.ones(4096, dtype=torch.float64), (0.1, 0.2, 0.5)
    layers = [nn.Dropout(p) for p in rates]
    kept = [layer.train()(ones).max().item() for layer in layers]
    inference = [layer.eval()(ones) for layer in layers]
    as_claimed = max(apart(y, ones * (1 - p)) for y, p in zip(inference, rates, strict=True))
    part = {"dropout": rates[-1]}
    torch.manual_seed(0)
    dropping = tiny_model(attention=part, feedforward=part, embedding_dropout=rates[-1])
    torch.manual_seed(0)
    plain, ids = tiny_model(), tiny_ids()
    return Found(
        verdict(as_claimed < EXACT),
        "At rates from {first} to {last}, what is kept in training is multiplied by {low:.4f} to "
        "{high:.4f}: off from the inverse of the share that is kept by {off:.1g} at most. At inference "
        "everything is multiplied by {factor:g}: a model with rates of {last} in eval mode and the same "
        "without dropout differ by {moved:g}.",
        {
            **{"first": rates[0], "last": rates[-1], "low": kept[0], "high": kept[-1]},
            "off": max(abs(each * (1 - p) - 1) for each, p in zip(kept, rates, strict=True)),
            "factor": torch.stack(inference).unique().max().item(),
            "moved": apart(dropping(ids), plain(ids)),
        },
    )


def ensemble_gap(n: int, after: nn.Module) -> float:
    """All 2ⁿ sub-networks of a map of n features at p = 1/2: their mean against the map without dropout."""
    up, down = (torch.randn(n, n, dtype=torch.float64) for _ in range(2))
    masks = torch.tensor(list(product((0.0, 2.0), repeat=n)), dtype=torch.float64)
    x = torch.randn(n, dtype=torch.float64)
    mean = (after(masks * x @ up) @ down).mean(dim=0)
    whole = after(x @ up) @ down
    return rms(mean - whole) / rms(whole)


def ensemble() -> Found:
    """4 to 8 features, dropped before a linear layer, then an activation or none, then another layer."""
    gaps = {
        name: [ensemble_gap(n, after) for n in FEATURES]
        for name, after in (("linear", nn.Identity()), ("relu", nn.ReLU()), ("gelu", nn.GELU()))
    }
    exact = {name: max(each) < EXACT for name, each in gaps.items()}
    return Found(
        verdict(all(exact.values()), LINEAR, exact["linear"]),
        "Over all {fewest} to {most} sub-networks of {n_low} to {n_high} features, the mean is off from the "
        "network without dropout by at most {linear:.1g} of it for a linear map; with a ReLU between the "
        "layers by {relu_low:.2f} to {relu_high:.2f}, with a GELU by {gelu_low:.2f} to {gelu_high:.2f}.",
        {
            **{
                "n_low": FEATURES[0],
                "n_high": FEATURES[-1],
                "fewest": 2 ** FEATURES[0],
                "most": 2 ** FEATURES[-1],
            },
            **{"linear": max(gaps["linear"]), "relu_low": min(gaps["relu"]), "relu_high": max(gaps["relu"])},
            **{"gelu_low": min(gaps["gelu"]), "gelu_high": max(gaps["gelu"])},
        },
    )


class Careless(nn.Module):
    """Hands its rate to the functional kernel in every mode."""

    def forward(self, x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x, x, x, dropout_p=0.5, is_causal=True)


def functional() -> Found:
    """Two forwards in eval mode, of a module that passes its rate on as it is, and of ours."""
    careless, x = Careless().eval(), torch.randn(B, H, T, D)
    ours, ids = tiny_model(attention={"dropout": 0.5}), tiny_ids()
    theirs, still = apart(careless(x), careless(x)), apart(ours(ids), ours(ids))
    ours.train()
    drops = apart(ours(ids), ours(ids))
    return Found(
        verdict(theirs > 0.0 and still == 0.0 and drops > 0.0),
        "Given a fixed rate, two forwards of the functional kernel inside a module in eval mode differ by up to "
        "{theirs:.2f}. With the rate switched off outside of training, two forwards of this model differ by "
        "{still:g} in eval mode and by {drops:.2f} in training.",
        {"theirs": theirs, "still": still, "drops": drops},
    )


CLAIMS = (
    Claim("B7", "at inference, outputs are multiplied by 1 - p", FAILS, at_inference),
    Claim(
        "B7, mean",
        "a network without dropout is the mean of its 2ⁿ sub-networks",
        f"holds when {LINEAR}",
        ensemble,
    ),
    Claim(
        "C2", "the functional kernel drops in eval mode too, unless its rate is set to 0", HOLDS, functional
    ),
)
