"""Token embedding and head: one matrix through the model's whole life, or two that are apart.

What counts is what the model does: the head is tied if the logit of a token moves when the embedding of
that token does, though the token is not in the input.
"""

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from blockproof.tests.checks.evidence import Evidence, LackingError

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject

MOVED = (
    1e-5  # of the largest logit: above what rounding moves in float32; a tied head moves it by 0.1 and more
)
KEPT, LOST = "follows", "lost"
TIE = "Use one tensor for both: head.weight = embedding.weight, or F.linear(x, embedding.weight); tie after init."
APART = "Give the head a matrix of its own, or make it the embedding's; a copy is neither."
SAYS = ("tie_word_embeddings", "tie_weights", "weight_tying", "tied")  # names that a config has for it


def token_embedding(model: nn.Module, ids: Tensor) -> nn.Embedding | None:
    """The first nn.Embedding that is given the ids (B, T) themselves, found by a forward."""
    given: list[nn.Embedding] = []

    def look(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        if inputs and isinstance(inputs[0], Tensor) and torch.equal(inputs[0].flatten(), ids.flatten()):
            given.append(module)  # type: ignore[arg-type]

    embeddings = [module for module in model.modules() if isinstance(module, nn.Embedding)]
    handles = [module.register_forward_hook(look) for module in embeddings]
    try:
        with torch.no_grad():
            model(ids)
    finally:
        for handle in handles:
            handle.remove()
    return given[0] if given else None


@torch.no_grad()
def follows(model: nn.Module, ids: Tensor, unseen: int) -> bool:
    """Whether the logits of a token that is not in ids (B, T) move with the embedding of it."""
    embedding = token_embedding(model, ids)
    if embedding is None:
        return False
    row, before = embedding.weight[unseen], model(ids)
    kept = row.clone()
    row.add_(torch.randn_like(row) * (row.abs().amax() + 0.1))
    change = (model(ids) - before)[..., unseen].abs().amax()
    row.copy_(kept)
    largest = torch.where(before.isfinite(), before, 0.0).abs().amax()
    return bool(change > MOVED * largest)  # NaN: it does not


def tying(subject: "Subject") -> Evidence:
    """A tied head stays tied when the model is loaded, copied or cast; one that is not tied is no copy.

    Raises:
        LackingError: if no nn.Embedding is given the ids.
    """
    model, ids = subject.build(), subject.ids(3, 12)
    unseen = int(ids[0, 0])
    ids[ids == unseen] = (unseen + 1) % subject.vocab_size
    embedding = token_embedding(model, ids)
    if embedding is None or subject.vocab_size < 2:
        raise LackingError("no nn.Embedding takes the ids, so there is no token embedding to be found")
    tied, told = follows(model, ids, unseen), _told(model.inner)
    measured: dict[str, float | int | str] = {"head": "tied" if tied else "a matrix of its own"}
    if told is not None and told != tied:
        problem = f"the config says that the head is {'' if told else 'not '}tied, and it is {'' if tied else 'not '}"
        return Evidence(measured, "as the config says", problem.rstrip(), TIE if told else APART)
    if not tied:
        copies = _copies(model, embedding)
        measured["matrices equal to the embedding"] = len(copies)
        problem = (
            f"{', '.join(copies)} starts as a copy of the embedding and is not tied to it" if copies else ""
        )
        return Evidence(measured, "no copy of the embedding", problem, TIE if copies else "")
    steps = _life(subject, ids, unseen)
    measured |= steps
    lost = [name for name, what in steps.items() if what == LOST]
    problem = f"the head is tied as built, and no longer {', nor '.join(lost)}: two matrices" if lost else ""
    return Evidence(measured, "the head follows the embedding at every step", problem, TIE if lost else "")


def _life(subject: "Subject", ids: Tensor, unseen: int) -> dict[str, str]:
    """What becomes of the tie on the ways that a model takes."""

    def loaded(a: int, b: int) -> "Judged":
        model = subject.build(b)
        model.load_state_dict(subject.build(a).state_dict())
        return model

    def from_meta() -> "Judged":
        with torch.device("meta"):
            model = subject.build()
        model.to_empty(device="cpu").load_state_dict(subject.build().state_dict())
        return model

    ways: dict[str, Callable[[], Judged]] = {
        "after loading another's state": lambda: loaded(0, 1),
        "after loading it back": lambda: loaded(1, 0),
        "after copy.deepcopy": lambda: copy.deepcopy(subject.build()),
        "after .double()": lambda: subject.build().double(),
        "after .double() and .float()": lambda: subject.build().double().float(),
    }
    if subject.ours:  # to_empty() gives two modules that share a parameter one each: torch's doing
        ways["when built on the meta device"] = from_meta
    steps = {}
    for name, way in ways.items():
        try:
            steps[name] = KEPT if follows(way(), ids, unseen) else LOST
        except Exception as error:
            steps[name] = f"not judged: {type(error).__name__}: {error}".splitlines()[0]
    return steps


def _copies(model: nn.Module, embedding: nn.Embedding) -> list[str]:
    """Names of other parameters that hold the same matrix, or its transpose."""
    table, inner = embedding.weight, getattr(model, "inner", model)
    return [
        name
        for name, value in inner.named_parameters()
        if value is not table
        and value.ndim == 2
        and (torch.equal(table, value) or torch.equal(table, value.T))
    ]


def _told(module: nn.Module) -> bool | None:
    """What the model's config says of its head, if it does."""
    config = getattr(module, "config", None)
    said = [config.get(name) if isinstance(config, dict) else getattr(config, name, None) for name in SAYS]
    return next((value for value in said if isinstance(value, bool)), None)
