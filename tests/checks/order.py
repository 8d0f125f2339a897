"""Whether the model can tell the order of what came before, and uses the positions that it has built."""

import math
import re
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from blockproof.tests.checks.disturbing import disturb
from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.checks.precision import apart, precise
from blockproof.tests.checks.tying import token_embedding

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Subject

# Words of a tensor's name that speak of positions (post_norm and positive do not), and of a class's name:
# some ways of telling places have no tensor.
WORD = re.compile(r"(pos(?!t|s|itiv)\w*|w?pe|rope|rotary\w*|alibi\w*|sinus\w*|freqs?)", re.IGNORECASE)
CLASS = re.compile(r"rope|rotary|alibi|sinusoid|positional", re.IGNORECASE)
UNUSED = "positions are built and not used"
REMEDY = "Add positions to the embedding, or rotate queries and keys by them, in every forward and before attention."


@torch.no_grad()
def order(subject: "Subject") -> Evidence:
    """Other orders of distinct earlier tokens move the last logits, and so do the positions that are built.

    A right model without positions may be blind to order: one layer always is, more see it by the mask.

    Raises:
        LackingError: if there are no two earlier tokens to swap.
    """
    if min(subject.context, subject.vocab_size + 1) < 3:
        raise LackingError("order needs two distinct tokens and one after them")
    model, bound = precise(subject)
    earlier = torch.randperm(subject.vocab_size)[: min(subject.context, 9) - 1]
    ids = torch.cat([earlier, earlier[-1:]])[None]
    last = model(ids)[:, -1]
    moved = {name: apart(model(other)[:, -1], last) for name, other in _orders(ids).items()}
    blind = all(move <= bound for move in moved.values())
    other = torch.where(ids == ids[0, 0], ids[0, 1], ids)
    no_past = apart(model(other)[:, -1], last) <= bound
    built = _built(subject)
    problem = ""
    if any(math.isnan(move) for move in moved.values()):
        problem = "logits are NaN"
    elif built and _influence(subject, built, ids) == 0.0 and not _stretches(subject, built, ids):
        problem = f"{UNUSED}: {', '.join(built[:3])} moves no logit by a bit"
    elif blind and not no_past and (built or _classes(model)):
        problem = f"{UNUSED}: earlier tokens swap places, and logits move by {max(moved.values()):.2g}"
    seen = "told" if not blind else "no token of the past matters" if no_past else "it cannot tell order"
    bound_told = f"more than {bound:g} of the largest logit, if there are positions"
    measured: dict[str, float | int | str] = {**moved, "order": seen, "tensors of positions": len(built)}
    return Evidence(measured, bound_told, problem, REMEDY if problem else "")


def _stretches(subject: "Subject", names: list[str], ids: Tensor) -> bool:
    """Whether positions are told though the buffers of these names are not read: they may be worked out anew.

    Then logits move when the positions given are further apart. A table that is trained has no such excuse.
    """
    model, bound = precise(subject)
    if not subject.protocol.places or any(name in dict(model.inner.named_parameters()) for name in names):
        return False
    near = torch.arange(ids.shape[1])[None]
    return apart(model(ids, position_ids=2 * near), model(ids, position_ids=near)) > bound


def _orders(ids: Tensor) -> dict[str, Tensor]:
    """Ids (1, T) with the earlier ones in other orders; the last one stays."""
    past, last = ids[:, :-1], ids[:, -1:]
    return {
        "all reversed": torch.cat([past.flip(1), last], dim=1),
        "first two swapped": torch.cat([past[:, :2].flip(1), past[:, 2:], last], dim=1),
        "last two swapped": torch.cat([past[:, :-2], past[:, -2:].flip(1), last], dim=1),
    }


def _built(subject: "Subject") -> list[str]:
    """Names of what seems to hold positions: by name, or an embedding with a row for each place."""
    model = subject.build()
    token = token_embedding(model, subject.ids(3, 7))
    inner = model.inner
    tables = [
        f"{name}.weight"
        for name, module in inner.named_modules()
        if isinstance(module, nn.Embedding)
        and module.num_embeddings == subject.context
        and module is not token
    ]
    named = [
        name
        for name, tensor in [*inner.named_parameters(), *inner.named_buffers()]
        if tensor.numel() > 1  # one number alone is a scale, or stands for a device
        and (tensor.is_floating_point() or tensor.is_complex())
        and (token is None or tensor is not token.weight)
        and any(WORD.fullmatch(word) for word in re.split(r"[._]", name))
    ]
    return sorted({*tables, *named})


def _classes(model: nn.Module) -> bool:
    return any(CLASS.search(type(module).__name__) for module in model.modules())


def _influence(subject: "Subject", names: list[str], ids: Tensor) -> float:
    """How far logits move with these tensors, all at once; exactly 0 if they are not used.

    Both models are new: tables that the first forward works out from them may be kept.
    """
    logits = []
    for shift in (False, True):
        model = subject.build()
        disturb(model)
        found = dict([*model.inner.named_parameters(), *model.inner.named_buffers()])
        for name in names if shift else ():
            found[name].add_(torch.randn_like(found[name]))
        logits.append(model(ids))
    return apart(logits[1], logits[0])
