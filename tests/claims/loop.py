"""Claims about what a model takes and shares: lengths, the tied matrix, padding."""

import re

import torch

from blockproof.model.position import POSITIONS
from blockproof.model.transformer import InputError, Transformer
from blockproof.tests.checks.causality import causality
from blockproof.tests.checks.controls import Unmasked
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import EXACT, apart, verdict
from blockproof.tests.helpers import T, V, tiny_ids, tiny_model

PAD = 0


def refusal(model: Transformer, length: int) -> str:
    """What the model, or torch in its place, says to a sequence of that length; nothing if it is taken."""
    try:
        model(tiny_ids(length=length))
    except (InputError, IndexError) as error:
        return str(error)
    return ""


def too_long() -> Found:
    """Every way of telling positions, at the context, one token more and many more."""
    models = [tiny_model(position=kind) for kind in POSITIONS]
    lengths = (T + 1, 10 * T)
    taken = sum(refusal(model, T) == "" for model in models)
    told = [(length, refusal(model, length)) for model in models for length in lengths]
    clear = [set(re.findall(r"\d+", words)) >= {str(length), str(T)} for length, words in told]
    return Found(
        verdict(taken == len(models) and all(clear)),
        "With each of {kinds} ways of telling positions a sequence as long as the context is taken; of "
        "{asked} that are longer, {clear} are refused in words that name both lengths: “{words}”.",
        {"kinds": taken, "asked": len(told), "clear": sum(clear), "words": told[0][1]},
    )


def after_change(*, tied: bool) -> tuple[float, float]:
    """One row of the embedding is changed, of a token that is not in the input: its logits, the other logits."""
    model, ids = tiny_model(tied=tied), torch.randint(V - 1, (2, T))
    with torch.no_grad():
        before = model(ids)
        model.token.weight[V - 1] += 1.0
        moved = (model(ids) - before).abs()
    return moved[..., V - 1].max().item(), moved[..., : V - 1].max().item()


def one_matrix() -> Found:
    """With a tied head and with one of its own; and how many matrices of the embedding's shape there are."""
    (tied, rest), (own, _) = after_change(tied=True), after_change(tied=False)
    model = tiny_model()
    matrices = [p for p in model.parameters() if p.shape == model.token.weight.shape]
    return Found(
        verdict(tied > EXACT and rest == own == 0.0 and len(matrices) == 1),
        "Changing the embedding of a token that is not in the input moves that token's logits by up to "
        "{tied:.2f} and all others by {rest:g}; with a head of its own, by {own:g}. The tied model has "
        "{matrices} matrix of that shape.",
        {"tied": tied, "rest": rest, "own": own, "matrices": len(matrices)},
    )


def padding() -> Found:
    """Rows of one length together and alone; then padding behind them, and before them; without any mask for it."""
    model, ids = tiny_model(position="none"), tiny_ids(length=T - 2)
    pads = torch.full((len(ids), 2), PAD)
    with torch.no_grad():
        together, alone = model(ids), torch.cat([model(row[None]) for row in ids])
        behind = apart(model(torch.cat([ids, pads], dim=1))[:, : T - 2], together)
        before = apart(model(torch.cat([pads, ids], dim=1))[:, 2:], together)
    spill, leak = causality(model, ids, V).spill, causality(Unmasked(V, T), ids, V).leak
    return Found(
        verdict(spill == 0.0 and apart(together, alone) < 10 * EXACT and leak > EXACT),
        "Without a padding mask, sequences of equal length move each other by {spill:g}, and together "
        "differ by {difference:.1g} from each alone. Without the causal mask later tokens move earlier "
        "logits by {leak:.2f}. Where lengths differ, padding behind a sequence moves its logits by "
        "{behind:.1g}, padding before it by {before:.1f}.",
        {
            **{"spill": spill, "difference": apart(together, alone), "leak": leak},
            **{"behind": behind, "before": before},
        },
    )


CLAIMS = (
    Claim("C3", "a sequence longer than the context raises a clear error", HOLDS, too_long),
    Claim("C4", "a tied head is the embedding: changing one changes the other", HOLDS, one_matrix),
    Claim(
        "C7",
        "samples of equal length need no padding mask, but still the causal one",
        HOLDS,
        padding,
    ),
)
