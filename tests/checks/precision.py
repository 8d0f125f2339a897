"""Logits compared as exactly as a model allows: in float64 if it can, as a share of the largest."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from blockproof.tests.checks.disturbing import disturb
from blockproof.tests.checks.evidence import Evidence, LackingError

if TYPE_CHECKING:
    from blockproof.tests.seam.subject import Judged, Subject

# Relative. Kernels sum in another order for another shape, which in float64 makes 1e-15 or so, through many
# layers 1e-12, and in float32 1e-6 in 24 layers. The faults that are looked for move logits by 1e-3 and more.
FLOAT64, FLOAT32 = 1e-9, 2e-5
Cases = Mapping[str, Callable[[], float]]


class _Narrow(TorchFunctionMode):
    """Sees whether anything is worked out in less than float64."""

    seen = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if isinstance(out, Tensor) and out.is_floating_point() and out.dtype != torch.float64:
            self.seen = True
        return out


@torch.no_grad()
def precise(subject: "Subject", seed: int = 0, *, moved: bool = True) -> tuple["Judged", float]:
    """The model in eval mode, in float64 if it can, and the relative bound of what is rounding there.

    Its parameters are ``moved`` from where they start, unless that makes its logits infinite.
    """
    for wide, shifted in product((True, False), (True, False) if moved else (False,)):
        model, ids = subject.build(seed), subject.ids(2, 4)
        try:
            model = model.double() if wide else model
            before = model(ids)[..., : subject.vocab_size]
            if shifted:
                disturb(model)
            with _Narrow() as narrow:
                logits = model(ids)[..., : subject.vocab_size]
        except Exception:  # a narrower one is tried; the check itself tells what fails in that
            continue
        if logits.isfinite().all() or not before.isfinite().all():  # infinite as built: for the check to see
            return model, FLOAT32 if narrow.seen else FLOAT64
    return subject.build(seed), FLOAT32


def apart(a: Tensor, b: Tensor) -> float:
    """The largest |a - b| over the largest finite |b|; NaN where there is NaN, infinite for other shapes."""
    if a.shape != b.shape:
        return torch.inf
    change = torch.where(a == b, 0.0, (a - b).abs())  # both may be minus infinity, where ids are masked
    return (change.amax() / torch.where(b.isfinite(), b, 0.0).abs().amax().clamp(min=1e-30)).item()


def weighed(cases: Cases, bound: float, fault: str, cause: str, remedy: str) -> Evidence:
    """Evidence of changes that must all be within a bound; a case that fails is a fault as well."""
    measured: dict[str, float | int | str] = {}
    wrong = []
    for name, case in cases.items():
        try:
            measured[name] = value = case()
            if not value <= bound:  # NaN too
                wrong.append(f"{name}: by {value:.2g} of the largest logit")
        except LackingError as error:
            measured[name] = f"not judged: {error}"
        except Exception as error:
            measured[name] = told = f"{type(error).__name__}: {error}".splitlines()[0]
            wrong.append(f"{name}: {told}")
    problem = f"{fault} ({wrong[0]}; {len(wrong)} of {len(cases)} cases): {cause}" if wrong else ""
    return Evidence(measured, f"at most {bound:g} of the largest logit", problem, remedy if wrong else "")
