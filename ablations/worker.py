"""What a worker does with a cell: check that it may, run it, and note what it took."""

import os
import platform
import resource
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from blockproof.ablations.cell import Cell
from blockproof.ablations.fingerprint import commit, fingerprint
from blockproof.ablations.record import Record
from blockproof.ablations.runs import run


def run_cell(data: dict[str, Any], expected: str) -> dict[str, Any]:
    """Run a cell given as JSON data, and give its record as JSON data; this is what workers do.

    Raises:
        RuntimeError: if this process would compute something else than the one that asked, because
            its source code, its torch or its kind of processor differ.
    """
    cell = Cell(**data)
    found = fingerprint(cell)
    if found != expected:
        raise RuntimeError(
            f"this worker ({platform.node()}) has fingerprint {found} for a cell of fingerprint {expected}: "
            f"give every worker the same source code, torch and kind of processor"
        )
    start = time.perf_counter()
    result = run(cell)
    seconds = time.perf_counter() - start
    return Record(cell, found, result, observe(seconds, result.get("tokens"))).to_dict()


def observe(seconds: float, tokens: int | None) -> dict[str, Any]:
    """What this run took, and where it took place."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {
        "seconds": round(seconds, 3),
        "tokens_per_second": round(tokens / seconds) if tokens else None,
        "process_peak_bytes": peak,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "commit": commit(),
    }


@lru_cache
def processor() -> str:
    """The processor's name, as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"
