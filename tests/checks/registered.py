"""Whether everything that a model computes with is part of it: of its state, its copies and its casts."""

import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from blockproof.tests.checks.disturbing import disturb
from blockproof.tests.checks.evidence import Evidence
from blockproof.tests.checks.precision import FLOAT32, apart

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject

CAST = 1e-3  # of the largest logit: float32 against float64, through many layers
REGISTER = "Keep modules in nn.ModuleList or nn.ModuleDict, tensors in nn.Parameter or register_buffer."


@torch.no_grad()
def everything_is_registered(subject: "Subject") -> Evidence:
    """Loading a state makes another model the same; a copy stands by itself; a cast to float64 is the same."""
    source, target, ids = subject.build(1), subject.build(0), subject.ids(3, 12)

    def logits(model: "Judged") -> Tensor:
        torch.manual_seed(0)  # what wrongly drops in eval mode drops the same: that is another check's matter
        return model(ids)

    hidden, alike = ", ".join(_hidden(source.inner)), apart(logits(target), logits(source)) == 0.0
    disturb(source)
    expected = logits(source)

    def loaded() -> float:
        target.load_state_dict(source.state_dict())
        return apart(logits(target), expected)

    def copied() -> float:
        twin = copy.deepcopy(source)
        disturb(source)  # which the copy must not feel
        return apart(logits(twin), expected)

    load, twin = _tried(loaded), _tried(copied)
    cast = _tried(lambda: apart(logits(target.double()).to(expected), expected))
    problem = ""
    if isinstance(load, str) or not load <= FLOAT32:
        problem = (
            f"{hidden or 'something'} is no part of the state: with another's loaded, logits differ ({load})"
        )
    elif alike and hidden:  # every build draws the same weights, so that none are missed
        problem = f"{hidden} is not registered"
    elif not isinstance(twin, str) and not twin <= FLOAT32:
        problem = (
            f"a deep copy changes with the original, by {twin:.2g} of the largest logit: it still uses it"
        )
    elif not isinstance(cast, str) and not cast <= CAST:
        problem = f"in float64 the logits differ from float32 by {cast:.2g} of the largest"
    measured = {
        "loaded": load,
        "copied": twin,
        "in float64": cast,
        "not registered": hidden or "nothing found",
    }
    bound = f"at most {FLOAT32:g} of the largest logit, {CAST:g} in float64"
    return Evidence(measured, bound, problem, REGISTER if problem else "")


def _tried(step: Callable[[], float]) -> float | str:
    """A number, or why there is none: not every model can be copied or cast."""
    try:
        return step()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]


def _hidden(module: nn.Module) -> list[str]:
    """Attributes that hold trained tensors which parameters() does not list."""
    known = {id(parameter) for parameter in module.parameters()}
    return [
        f"{name}.{key}".lstrip(".")
        for name, part in module.named_modules()
        for key, value in vars(part).items()
        if key not in ("_parameters", "_modules", "_buffers")
        and any(id(tensor) not in known for tensor in _trained(value))
    ]


def _trained(value: Any) -> Iterator[Tensor]:
    """The trained tensors in a tensor, a module, or a list or dict of them."""
    if isinstance(value, Tensor) and value.is_leaf and value.requires_grad:
        yield value
    elif isinstance(value, nn.Module):
        yield from value.parameters()
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _trained(each)
