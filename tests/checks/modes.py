"""Dropout acts in train mode and there alone, and generation leaves no trace.

Most models are built with dropout off, where every such fault hides: rates are set to 0.5 first.
"""

import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from blockproof.tests.checks.disturbing import disturb, rates, set_dropout
from blockproof.tests.checks.evidence import Evidence, LackingError

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject

RATE = 0.5
# How people call generate(), and whether no token is drawn at random then.
WAYS: tuple[tuple[tuple[int, ...], dict[str, Any], bool], ...] = (
    ((), {"max_new_tokens": 2, "do_sample": False}, True),
    ((), {"max_new_tokens": 2}, False),
    ((), {"max_length": 4}, False),
    ((2,), {}, False),
)
FUNCTIONAL = "Tell functions the mode: F.dropout(x, p, self.training), dropout_p=p if self.training else 0.0."
USE_IT = "Leave the mode to train() and eval(), never call eval() in forward, and use every dropout layer."
PUT_BACK = "Put back what generate() changes, in a finally clause: model.train(was_training)."


@torch.no_grad()
def eval_is_deterministic(subject: "Subject") -> Evidence:
    """In eval mode, with every rate at 0.5: equal to the bit twice over, and to the model without dropout."""
    model, ids = subject.build(), subject.ids(3, 12)
    disturb(model)  # a branch whose gate is shut shows no dropout
    count = set_dropout(model, RATE)
    first, second = model(ids), model(ids)
    set_dropout(model, 0.0)
    twice, read = _apart(first, second), _apart(first, model(ids))
    problem = ""
    if twice != 0.0:
        problem = f"two forwards in eval mode differ by {twice:.2g}: something is still drawn at random"
    elif read != 0.0:
        problem = f"dropout at {RATE} moves the logits in eval mode by {read:.2g}: its rate is still read"
    measured = {"dropout rates set": count, "between two forwards": twice, "against no dropout": read}
    return Evidence(measured, "equal to the bit", problem, FUNCTIONAL if problem else "")


@torch.no_grad()
def training_drops(subject: "Subject") -> Evidence:
    """In train mode, with every rate at 0.5, forwards differ; also after a forward in eval mode.

    Raises:
        LackingError: for a model without dropout.
    """
    model, ids = subject.build(), subject.ids(3, 12)
    disturb(model)
    meant = any(vars(part)[name] > 0 for part, name in rates(model))
    count, off = set_dropout(model, RATE), _switched_off(model, ids)
    fresh = _noise(model, ids)
    model.eval()(ids)
    again = _noise(model, ids)
    if not (meant or off) and fresh == 0.0:  # layers may be left out where a rate is 0
        raise LackingError("the model has no dropout, or is built with a rate of 0 that cannot be changed")
    problem = ""
    if off:
        problem = f"a forward in train mode leaves {off} modules in eval mode: dropout is off from then on"
    elif not fresh > 0.0:
        problem = f"forwards in train mode differ by {fresh:.2g}, with dropout at {RATE}: it does not act"
    elif not again > 0.0:
        problem = (
            f"after a forward in eval mode, those in train mode differ by {again:.2g}: dropout stays off"
        )
    measured: dict[str, float] = {"dropout rates set": count, "modules switched off": off}
    measured |= {"between two forwards": fresh, "after eval and train": again}
    return Evidence(measured, "forwards differ and change no mode", problem, USE_IT if problem else "")


def generation_leaves_no_trace(subject: "Subject") -> Evidence:
    """After generate(), every module is in the mode it was in; the random state is as it was, if greedy.

    Raises:
        LackingError: for a model that has no generate(), or none that takes the usual arguments.
    """
    measured: dict[str, float | int | str] = {}
    wrong = []
    for mode in ("train", "eval"):
        model = subject.build().train(mode == "train")
        set_dropout(model, 0.0)  # in train mode it would draw
        before = [(part, part.training) for part in model.inner.modules()]
        greedy, kept = _generate(subject, model)
        changed = sum(part.training != training for part, training in before)
        measured[f"modules whose mode changed, from {mode}"] = changed
        if changed:
            wrong.append(f"it leaves {changed} modules in the other mode when called in {mode} mode")
    # as found in eval mode: in train mode much may draw
    measured["random state"] = ("kept" if kept else "moved") if greedy else "not judged: it samples"
    if greedy and not kept:
        wrong.append("it moves torch's random state, though it is greedy")
    problem = f"generate() leaves a trace: {'; '.join(wrong)}" if wrong else ""
    bound = "no module's mode changes, and greedy decoding draws nothing"
    return Evidence(measured, bound, problem, PUT_BACK if wrong else "")


def _generate(subject: "Subject", model: "Judged") -> tuple[bool, bool]:
    """Whether it was greedy, and whether torch's random state is as before."""
    generate: Any = getattr(model.inner, "generate", None)
    if not callable(generate):
        raise LackingError("the model has no generate()")
    told: Exception | None = None
    for more, named, greedy in WAYS:
        model.train(model.training)  # as it was, whatever a failed try has changed
        ids, state = subject.ids(1, 2), torch.get_rng_state()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                generate(ids, *more, **named)
        except Exception as error:
            told = error
            continue
        return greedy, torch.equal(state, torch.get_rng_state())
    raise LackingError(f"generate() takes none of the usual arguments: {type(told).__name__}: {told}")


def _switched_off(model: "Judged", ids: Tensor) -> int:
    """How many modules a forward in train mode takes out of it."""
    model.train()
    before = [part for part in model.modules() if part.training]
    model(ids)
    return sum(not part.training for part in before)


def _noise(model: "Judged", ids: Tensor) -> float:
    """How far two forwards in train mode are apart; the first may be what switches dropout off."""
    model.train()
    return _apart(*[model(ids) for _ in range(3)][1:])


def _apart(a: Tensor, b: Tensor) -> float:
    return torch.where(a == b, 0.0, (a - b).abs()).amax().item()
