"""Weights by name, into a module: all of them or none, with ties kept, whatever wraps the module."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from blockproof.model.schema import hint
from blockproof.model.tensorfile import CheckpointError

COMPILED = "_orig_mod"  # what torch.compile puts into names, before whatever it wraps


def load_weights(module: nn.Module, tensors: Mapping[str, Tensor], *, assign: bool = False) -> None:
    """Give a module its parameters and buffers; it stays as it was if they do not fit.

    Names count without what torch.compile adds to them, on either side. Tied names stay tied, and one of
    them is enough.

    Args:
        module: compiled or not, on any device; on the meta device only with ``assign``.
        tensors: by name.
        assign: whether the module takes the tensors themselves, in their dtype and on their device,
            instead of copying them into its own.

    Raises:
        CheckpointError: if a tensor is missing, left over or of another shape, or the ties differ.
    """
    own, given = bare_names(module.state_dict(keep_vars=True)), bare_names(tensors)
    ties = aliases(own)
    _refuse_untied(ties, given)
    for name, kept in ties.items():
        if name in given:
            given.setdefault(kept, given[name])
    given = {name: given[kept] for name, kept in ties.items() if kept in given} | given
    _refuse_different(ties, given)
    refuse_misfit(own, given)
    module.load_state_dict({name: given[bare(name)] for name in module.state_dict()}, assign=assign)
    if assign:  # torch then gives each name a parameter of its own
        places = {bare(name): name for name in module.state_dict()}
        for name, kept in ties.items():
            _tie(module, places[name], places[kept])


def bare(name: str) -> str:
    """A name as it is in the module that was not compiled."""
    return ".".join(part for part in name.split(".") if part != COMPILED)


def bare_names(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors by their bare names.

    Raises:
        CheckpointError: if two have the same.
    """
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if bare(name) in found:
            raise CheckpointError(
                f"two tensors are named {bare(name)!r} once {COMPILED!r} is left out: keep one"
            )
        found[bare(name)] = tensor
    return found


def below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names start so, by the rest of their names."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def refuse_misfit(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    """Raise CheckpointError unless the names are the same on both sides, and the shapes."""
    _refuse_other_names(own, given)
    _refuse_other_shapes(own, given)


def aliases(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Names of one tensor that has several: each to the first of them by the alphabet.

    Raises:
        CheckpointError: if two tensors share a part of their memory only.
    """
    first: dict[object, str] = {}
    found: dict[str, str] = {}
    for name, tensor in sorted(tensors.items()):
        kept = first.setdefault(_memory(tensor), name)
        if kept != name:
            found[name] = kept
    _refuse_overlap({name: tensor for name, tensor in tensors.items() if name not in found})
    return found


def _memory(tensor: Tensor) -> object:
    """What two tensors have in common that are one; without data, the object itself."""
    if tensor.is_meta or tensor.layout is not torch.strided or not tensor.numel():
        return id(tensor)
    return tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()


def _refuse_overlap(tensors: Mapping[str, Tensor]) -> None:
    ends: dict[torch.device, tuple[int, str]] = {}
    held = {name: x for name, x in tensors.items() if not isinstance(_memory(x), int)}
    for name, x in sorted(held.items(), key=lambda item: item[1].data_ptr()):
        reach = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
        end, before = ends.get(x.device, (0, ""))
        if x.data_ptr() < end:
            raise CheckpointError(
                f"{before} and {name} are views of one memory but not the same: clone one of them"
            )
        ends[x.device] = x.data_ptr() + (reach + 1) * x.element_size(), name


def _refuse_untied(ties: Mapping[str, str], given: Mapping[str, Tensor]) -> None:
    for name, kept in aliases(given).items():
        if ties.get(name, name) != ties.get(kept, kept):
            raise CheckpointError(
                f"{name} and {kept} are one tensor in the weights: tie them in the module as well"
            )


def _refuse_different(ties: Mapping[str, str], given: Mapping[str, Tensor]) -> None:
    for name, kept in ties.items():
        if name in given and given[name] is not given[kept] and not torch.equal(given[name], given[kept]):
            raise CheckpointError(
                f"{name} and {kept} are tied in the module, and differ in the weights: "
                f"build the module without the tie, or leave out one of them"
            )


def _refuse_other_names(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    missing = [name for name in own if name not in given]
    extra = [name for name in given if name not in own]
    if missing:
        others = hint(missing[0], extra) if extra else ""
        raise CheckpointError(f"the weights lack {missing[0]!r} ({len(missing)} missing){others}")
    if extra:
        raise CheckpointError(f"the module has no {extra[0]!r} ({len(extra)} left over){hint(extra[0], own)}")


def _refuse_other_shapes(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    for name, tensor in own.items():
        if tensor.shape != given[name].shape:
            shapes = f"{tuple(given[name].shape)} in the weights, {tuple(tensor.shape)} in the module"
            raise CheckpointError(f"{name} has shape {shapes}: build the module as the weights were made")


def _tie(module: nn.Module, name: str, kept: str) -> None:
    def place(path: str) -> tuple[nn.Module, str]:
        parent, _, leaf = path.rpartition(".")
        return module.get_submodule(parent), leaf

    setattr(*place(name), getattr(*place(kept)))
