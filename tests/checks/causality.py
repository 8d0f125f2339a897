"""Causality of any language model, measured twice: no output may depend on a later token."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Causality:
    """How the logits at place i (row) depend on the token at place j (column).

    Attributes:
        moved: (T, T), the largest change of the logits at i when one sequence's token j is changed.
        pulled: (T, T), the largest gradient of the logits at i by the token vectors at j; ``moved`` again
            where no nn.Embedding takes the ids.
        spill: the largest change in the other sequences of the batch.
    """

    moved: Tensor
    pulled: Tensor
    spill: float

    @property
    def leak(self) -> float:
        """The largest dependence on a later token or on another sequence: exactly 0 when causal."""
        ahead = torch.stack([self.moved, self.pulled]).triu(diagonal=1)
        return torch.maximum(ahead.amax(), torch.tensor(self.spill, dtype=ahead.dtype)).item()

    @property
    def blind(self) -> list[tuple[int, int]]:
        """The pairs (i, j), j <= i, without a dependence: empty when the whole past matters."""
        seen = (self.moved > 0) & (self.pulled > 0)  # NaN counts as unseen
        return [(i, j) for i, row in enumerate(seen.tolist()) for j in range(i + 1) if not row[j]]


def causality(model: nn.Module, ids: Tensor, vocab_size: int) -> Causality:
    """Measure every pair of places of ids (B, T), B >= 2, in the model's present mode.

    Each forward starts from the same random state, so that dropout is the same in all of them.
    """
    if len(ids) < 2:
        raise ValueError("causality needs B >= 2, to see whether sequences mix")
    with torch.random.fork_rng():
        seed = torch.initial_seed()
        moved, spill = _moved(model, ids, vocab_size, seed)
        pulled = _pulled(model, ids, seed)
        return Causality(moved, moved if pulled is None else pulled, spill)


def _moved(model: nn.Module, ids: Tensor, vocab_size: int, seed: int) -> tuple[Tensor, float]:
    B, T = ids.shape
    steps = torch.randint(1, vocab_size, (T,))  # never 0: the changed token always differs
    before = _forward(model, ids, seed)
    change = torch.empty(T, B, T, dtype=before.dtype)
    for j in range(T):
        other = ids.clone()
        other[j % B, j] = (ids[j % B, j] + steps[j]) % vocab_size
        change[j] = (_forward(model, other, seed) - before).abs().amax(dim=-1)
    places, rows = torch.arange(T), torch.arange(T) % B
    moved = change[places, rows].T.clone()
    change[places, rows] = 0.0
    return moved, change.amax().item()


@torch.no_grad()
def _forward(model: nn.Module, ids: Tensor, seed: int) -> Tensor:
    torch.manual_seed(seed)
    logits: Tensor = model(ids)
    return logits


def _pulled(model: nn.Module, ids: Tensor, seed: int) -> Tensor | None:
    """None where no nn.Embedding takes the ids."""
    vectors: list[Tensor] = []

    def cut(module: nn.Module, inputs: Any, output: Tensor) -> Tensor | None:
        if not _embeds(inputs, ids) or output.shape[:2] != ids.shape:  # a table of positions may count ids
            return None
        vectors.append(output.detach().requires_grad_())  # gradients end here, also with tied weights
        return vectors[-1].clone()  # right models may scale it in place, which a leaf does not allow

    tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
    handles = [table.register_forward_hook(cut) for table in tables]
    try:
        torch.manual_seed(seed)
        logits = model(ids)
    finally:
        for handle in handles:
            handle.remove()
    if not vectors:
        return None
    outputs = (logits * torch.randn_like(logits)).sum(dim=(0, 2))  # (T,): one mixed output a place
    rows = [
        torch.autograd.grad(output, vectors, retain_graph=True, materialize_grads=True) for output in outputs
    ]
    return torch.stack([torch.stack([g.abs().amax(dim=(0, 2)) for g in row]).amax(dim=0) for row in rows])


def _embeds(inputs: tuple[Any, ...], ids: Tensor) -> bool:
    """Whether these are the token ids; a table of positions gets other numbers or another shape."""
    found = inputs[0] if inputs else None
    return isinstance(found, Tensor) and found.shape == ids.shape and bool((found == ids).all())
