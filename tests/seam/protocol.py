"""How people's models are called: what they take beside ids, and where in their output the logits are.

Three protocols are common. nanoGPT's gives the logits of all places only when targets are given. The
lecture GPT flattens its logits when they are. Hugging Face's shifts its labels inside.
"""

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from blockproof.tests.seam.load import SeamError

LABELS = ("labels", "targets", "target", "label", "y")  # names of the argument that asks for a loss
INSIDE, BEFORE = "inside", "before"  # where labels are shifted: by the model, or by who calls it
IGNORED = (-100, -1)  # torch's own, and nanoGPT's


@dataclass(frozen=True)
class Protocol:
    """How a model is called.

    Attributes:
        label: the argument that takes labels, or None if the model reports no loss.
        shift: ``inside`` if the model shifts its labels itself, else ``before``.
        ignore: the label that asks for nothing.
        last_only: whether logits of all places come only with labels.
        mask: whether the model takes an ``attention_mask``.
        places: whether it takes ``position_ids``.
    """

    label: str | None
    shift: str
    ignore: int
    last_only: bool
    mask: bool
    places: bool


def probe(module: nn.Module, ids: Tensor, shift: str | None = None, ignore: int | None = None) -> Protocol:
    """Find the protocol from the signature, and by calling the module on ids (B, T), T > 1.

    Where labels are shifted is told by their name alone: Hugging Face's ``labels`` inside, any other
    before. A guess from the loss would take a double shift for a convention.

    Raises:
        SeamError: if the module fails, or gives no logits (B, T, V).
    """
    names = list(inspect.signature(module.forward).parameters)
    label = next((name for name in LABELS if name in names), None)
    out = called(module, ids)
    last_only = out.ndim == 3 and out.shape[:2] == (len(ids), 1) and label is not None
    found = Protocol(
        label=label,
        shift=shift or (INSIDE if label == "labels" else BEFORE),
        ignore=ignore if ignore is not None else _ignored(module, ids, label),
        last_only=last_only,
        mask="attention_mask" in names,
        places="position_ids" in names,
    )
    whole = logits(module, ids, found)
    if whole.ndim != 3 or whole.shape[:2] != ids.shape or not whole.is_floating_point():
        raise SeamError(
            f"module(ids) gave {_shown(whole)} for ids {tuple(ids.shape)}: logits must be floats (B, T, V)"
        )
    return found


def logits(module: nn.Module, ids: Tensor, protocol: Protocol, **extra: Any) -> Tensor:
    """Logits (B, T, V) of ids (B, T), whatever the module wraps them in."""
    ids = ids.contiguous()
    if protocol.last_only and protocol.label:
        extra[protocol.label] = ids
    out = called(module, ids, **extra)
    if out.ndim == 2 and len(out) == ids.numel():
        out = out.unflatten(0, ids.shape)  # the lecture GPT flattens them for its loss
    return out


def reported_loss(module: nn.Module, inputs: Tensor, labels: Tensor, protocol: Protocol) -> Tensor:
    """The loss that the module reports for labels (B, T) as it takes them."""
    assert protocol.label is not None
    # Right models may view both as one row of tokens, which a slice does not allow.
    out = module(inputs.contiguous(), **{protocol.label: labels.contiguous()})
    loss = getattr(out, "loss", None)
    if loss is None and isinstance(out, tuple | list):
        loss = next((part for part in out if isinstance(part, Tensor) and part.ndim == 0), None)
    if loss is None and isinstance(out, dict):
        loss = out.get("loss")
    if loss is None:
        raise SeamError(
            f"module(ids, {protocol.label}=…) reports no loss: a tuple or .loss must hold a scalar"
        )
    return loss


def called(module: nn.Module, ids: Tensor, **extra: Any) -> Tensor:
    """What the module gives for ids, unwrapped: a tensor, the first of a tuple, or ``.logits``."""
    try:
        out = module(ids, **extra)
    except Exception as error:
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SeamError(f"module(ids) failed for int64 ids {tuple(ids.shape)}: {told}") from error
    if isinstance(out, dict) and "logits" in out:
        out = out["logits"]
    elif hasattr(out, "logits"):
        out = out.logits
    elif isinstance(out, tuple | list) and out:
        out = out[0]
    if not isinstance(out, Tensor):
        raise SeamError(
            f"module(ids) gave a {type(out).__name__}: logits, a tuple with them first, or .logits is needed"
        )
    return out


def _ignored(module: nn.Module, ids: Tensor, label: str | None) -> int:
    """The first usual value that the module takes as a label, beside real ones."""
    if label is None:
        return IGNORED[0]
    for value in IGNORED:
        labels = ids.clone()
        labels[:, -1] = value
        try:
            with torch.no_grad():
                module(ids, **{label: labels})
        except Exception:
            continue
        return value
    return IGNORED[0]


def _shown(x: Tensor) -> str:
    return f"{tuple(x.shape)} {x.dtype}".replace("torch.", "")
