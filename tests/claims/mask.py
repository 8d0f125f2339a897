"""Claims about the causal mask: what it is for, and whether it is enough."""

import torch
from torch import Tensor, nn

from blockproof.model.norm import NORMS
from blockproof.tests.checks.causality import causality
from blockproof.tests.checks.overfit import BAND
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import verdict
from blockproof.tests.claims.overfitting import BELOW, run, told_the_past_alone
from blockproof.tests.helpers import V, tiny_config, tiny_ids, tiny_model

ONE_TOKEN = "every norm takes its statistics from one token"


def cheating() -> Found:
    """The same batch learnt with and without a mask; then each token told its past alone."""
    masked, bare = run("sound"), run("no mask")
    honest = told_the_past_alone(bare.model)
    leak = causality(tiny_model(), tiny_ids(), V).leak
    worthless = honest > bare.floor + BAND
    return Found(
        verdict(leak == 0.0 and bare.symptom == BELOW and worthless),
        "A changed token moves earlier logits by {leak:g}. On a batch whose next tokens cost an honest "
        "model {floor:.3f} nats at least, training with the mask ends at {masked:.3f}, without it at "
        "{bare:.3f}; given only the past, as in generation, the model without it is at {honest:.2f} nats.",
        {"leak": leak, "floor": bare.floor, "masked": masked.final, "bare": bare.final, "honest": honest},
    )


class OverTime(nn.Module):
    """Mean 0 and variance 1 of each feature over the places of a sequence."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(dim=1, keepdim=True)) / (x.var(dim=1, correction=0, keepdim=True) + 1e-5).sqrt()


class OverBatch(nn.Module):
    """Batch normalisation: of each feature over all places of all sequences."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(d_model, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x.transpose(1, 2)).transpose(1, 2)


def leak_with(norm: nn.Module | None = None, *, training: bool = True, kind: str = "layernorm") -> float:
    """How far a later token, or another sequence, reaches in a masked model with that norm in one block."""
    model = tiny_model(norm={"kind": kind})
    if norm is not None:
        model.get_submodule("blocks.0.attention").norm = norm
    return causality(model.train(training), tiny_ids(), V).leak


def mask_alone() -> Found:
    """Four norms in an otherwise causal model; dropout is off, so that train mode matters to one alone."""
    by_token = max(leak_with(kind=kind) for kind in NORMS)
    width = tiny_config().d_model
    over_time, over_batch = leak_with(OverTime()), leak_with(OverBatch(width))
    frozen = leak_with(OverBatch(width), training=False)
    return Found(
        verdict(by_token == over_time == over_batch == 0.0, ONE_TOKEN, by_token == 0.0),
        "With every mask in place, logits depend on later tokens or other sequences by {by_token:g} with "
        "LayerNorm or RMSNorm, by up to {over_time:.1f} once one norm takes its statistics over time, by "
        "{over_batch:.1f} with a batch norm in training and by {frozen:g} with the same in eval mode, where "
        "its statistics are fixed.",
        {"by_token": by_token, "over_time": over_time, "over_batch": over_batch, "frozen": frozen},
    )


CLAIMS = (
    Claim("A2", "no token sees a later one; without the mask the loss is low and worthless", HOLDS, cheating),
    Claim(
        "A2, mask alone", "the mask is all that makes a block causal", f"holds when {ONE_TOKEN}", mask_alone
    ),
)
