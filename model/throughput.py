"""How fast and how large training is: tokens a second, operations against what the machine can, memory."""

import time
import weakref
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from blockproof.model.config import ModelConfig
from blockproof.model.count import cost, count

SIDE, REPEATS = 1024, 5


def matmul_rate(device: torch.device, dtype: torch.dtype = torch.float32) -> float:
    """Floating-point operations a second of a large matrix product, the best of a few: measured, not looked up.

    A multiplication and an addition are two. It is this machine's as it is now, with torch's present threads.
    """
    a, b = (torch.ones(SIDE, SIDE, device=device, dtype=dtype) for _ in range(2))  # draws nothing at random
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        a @ b
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        best = min(best, time.perf_counter() - start)
    return 2 * SIDE**3 / best


class Throughput:
    """Tokens a second over the updates that count, and the share of the machine's matrix products that they are."""

    def __init__(self, config: ModelConfig, device: torch.device) -> None:
        self.rate = matmul_rate(device)
        self.operations = cost(count(config)).training  # of one token, forward and backward
        self.tokens, self.seconds = 0, 0.0
        self._since = time.perf_counter()

    def count(self, tokens: int) -> None:
        """An update on so many tokens has ended; it took the time since the last call."""
        self.tokens += tokens
        self.seconds += self.skip()

    def skip(self) -> float:
        """Leave out what took the time since the last call, and say how long it was, in seconds."""
        now = time.perf_counter()
        passed, self._since = now - self._since, now
        return passed

    def look(self) -> tuple[float | None, float | None]:
        """Tokens a second since the last look, and model FLOPs utilisation, 0 … 1; None if no update counted."""
        if not self.tokens:
            return None, None
        speed = self.tokens / self.seconds
        self.tokens, self.seconds = 0, 0.0
        return speed, speed * self.operations / self.rate


class StepMemory(TorchDispatchMode):
    """While entered, follows the memory of every tensor that an operation reads or makes.

    What existed before and was not touched does not count, nor what a kernel takes for itself.

    Attributes:
        peak: the most bytes that were alive at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak = self._alive = 0
        self._seen: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves((args, kwargs, made)):
            if isinstance(leaf, Tensor):
                self._note(leaf.untyped_storage())
        return made

    def _note(self, storage: torch.UntypedStorage) -> None:
        key, size = id(storage), storage.nbytes()
        if key in self._seen:
            return

        def gone(reference: weakref.ref[Any]) -> None:
            self._alive -= size
            del self._seen[key]

        self._seen[key] = weakref.ref(storage, gone)
        self._alive += size
        self.peak = max(self.peak, self._alive)
