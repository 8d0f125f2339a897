"""Claims about norms: their formulas, and what they look at."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model.norm import LayerNorm, RMSNorm
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, apart, verdict
from blockproof.tests.helpers import B, D, T, randomise, tiny_config
from blockproof.tests.oracle.norm import norm
from blockproof.tests.oracle.weights import weights_of

LARGE = "the input's variance is far above eps"


def stream() -> Tensor:
    """Tokens with a mean and a variance of their own."""
    return 3 * torch.randn(B, T, D, dtype=torch.float64) + 1


def layer_norm() -> Found:
    """The formula in NumPy, token by token, against torch; and with the slip of dividing by D - 1."""
    x, made = stream(), randomise(LayerNorm(tiny_config())).double()
    by_hand = torch.from_numpy(norm(x.numpy(), weights_of(made), "layernorm", made.eps))
    library = F.layer_norm(x, (D,), made.weight, made.bias, made.eps)
    centred = x - x.mean(dim=-1, keepdim=True)
    unbiased = centred / (x.var(dim=-1, keepdim=True) + made.eps).sqrt() * made.weight + made.bias
    return Found(
        verdict(max(apart(by_hand, library), apart(made(x), library)) < EXACT < apart(unbiased, library)),
        "By hand and the library's differ by at most {difference:.1g}; with the variance divided by one "
        "less than the width it would be {unbiased:.2g}.",
        {"difference": apart(by_hand, library), "unbiased": apart(unbiased, library)},
    )


def rms_norm() -> Found:
    """NumPy, torch and ours; gradients of the last two; at an eps that is not lost in rounding."""
    made = randomise(RMSNorm(tiny_config(norm={"kind": "rmsnorm", "eps": 1e-3}))).double()
    x = stream().requires_grad_()
    by_hand = torch.from_numpy(norm(x.detach().numpy(), weights_of(made), "rmsnorm", made.eps))
    ours, library = made(x), F.rms_norm(x, (D,), made.weight, made.eps)
    difference = max(apart(by_hand, library), apart(ours, library))
    direction = stream()
    gradients = [torch.autograd.grad((each * direction).sum(), x)[0] for each in (ours, library)]
    same = ours.shape == x.shape and difference < EXACT and apart(*gradients) < 10 * EXACT
    return Found(
        verdict(same),
        "The shape stays {shape}. By hand and the library's differ by at most {difference:.1g}; the "
        "gradients of the model's norm and the library's by {gradient:.1g}.",
        {
            "shape": str(tuple(ours.shape)),
            "difference": difference,
            "gradient": apart(*gradients),
        },
    )


def standardised() -> Found:
    """Mean and variance of the output for tokens of variance 1, 9 and eps itself."""
    made = LayerNorm(tiny_config()).double()
    x = torch.randn(B, T, D, dtype=torch.float64)
    x = (x - x.mean(dim=-1, keepdim=True)) / x.std(dim=-1, correction=0, keepdim=True)
    mean = max(made(scale * x + 1).mean(dim=-1).abs().max().item() for scale in (1, 3))
    large, small = (made(scale * x).var(dim=-1, correction=0).min().item() for scale in (1.0, made.eps**0.5))
    return Found(
        verdict(mean < EXACT and small > 0.99, LARGE, mean < EXACT and large > 0.99),
        "The mean over the features is at most {mean:.1g}. The variance is {large:.5f} where the input's is "
        "one, and {small:.2f} where it is as small as eps, {eps:g}.",
        {"mean": mean, "large": large, "small": small, "eps": made.eps},
    )


def reach(made: Callable[[Tensor], Tensor]) -> float:
    """How far the output at other tokens moves when one is changed."""
    x = stream()
    other = x.clone()
    other[0, 0] += torch.randn(D)
    moved = (made(x) - made(other)).abs().flatten(0, 1)
    return moved[1:].max().item()


def by_itself() -> Found:
    """A changed token, seen at all the others, with each norm."""
    batch = nn.BatchNorm1d(D, dtype=torch.float64)

    def over_batch(x: Tensor) -> Tensor:
        return batch(x.transpose(1, 2)).transpose(1, 2)

    with torch.no_grad():
        layer, training = reach(LayerNorm(tiny_config()).double()), reach(over_batch)
        batch.eval()
        frozen = reach(over_batch)
    return Found(
        verdict(layer == 0.0 and training > EXACT),
        "Changing one token moves the normed others by {layer:g} with LayerNorm; with BatchNorm by up to "
        "{training:.2g} in training, by {frozen:g} in eval mode, where it uses running statistics.",
        {"layer": layer, "training": training, "frozen": frozen},
    )


CLAIMS = (
    Claim("A8", "LayerNorm written by hand equals the library's", HOLDS, layer_norm),
    Claim("A9", "RMSNorm written by hand keeps the shape and equals the library's", HOLDS, rms_norm),
    Claim(
        "B6", "LayerNorm gives mean 0 and variance 1 over the features", f"holds when {LARGE}", standardised
    ),
    Claim("B6, alone", "LayerNorm looks at no other token, unlike BatchNorm", HOLDS, by_itself),
)
