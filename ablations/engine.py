"""Who runs the cells: this process, or a Dask cluster. Both are one function from cells to outcomes."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, NamedTuple

from tqdm import tqdm

from blockproof.ablations.cell import Cell
from blockproof.ablations.fingerprint import fingerprint
from blockproof.ablations.record import Record
from blockproof.ablations.store import Store
from blockproof.ablations.worker import run_cell
from blockproof.model.schema import ConfigError


class Outcome(NamedTuple):
    """A cell, and its record or what went wrong."""

    cell: Cell
    record: Record | Exception


Submit = Callable[[Sequence[Cell]], Iterator[Outcome]]


class CellsFailedError(RuntimeError):
    """Some cells raised; every other record is stored."""


def inline(cells: Sequence[Cell]) -> Iterator[Outcome]:
    """Run the cells one after the other in this process."""
    for cell in cells:
        try:
            yield Outcome(cell, Record.from_dict(run_cell(cell.to_dict(), fingerprint(cell))))
        except Exception as error:
            yield Outcome(cell, error)


def dask(cells: Sequence[Cell]) -> Iterator[Outcome]:
    """Run the cells on the cluster that ``SCHEDULER`` names, else on one process per core here."""
    from distributed import as_completed  # noqa: PLC0415 (slow to import, and not always needed)

    address = os.environ.get("SCHEDULER")
    with remote_cluster(address) if address else local_cluster(len(cells)) as client:
        futures = {}
        for cell in cells:
            name = fingerprint(cell)
            futures[client.submit(run_cell, cell.to_dict(), name, key=f"cell-{name}")] = cell
        for future in as_completed(futures):
            failure = future.exception()
            yield Outcome(futures[future], failure or Record.from_dict(future.result()))
            future.release()


def remote_cluster(address: str) -> Any:
    """A client of the cluster at an address such as ``tcp://host:8786``.

    Raises:
        ConfigError: if nothing answers there.
    """
    from distributed import Client  # noqa: PLC0415

    try:
        return Client(address)
    except (ValueError, OSError) as error:
        raise ConfigError(f"no Dask scheduler at SCHEDULER={address}: {error}") from error


@contextmanager
def local_cluster(cells: int) -> Iterator[Any]:
    """A client of one worker process per core, each with one thread."""
    import dask  # noqa: PLC0415
    from dask.system import CPU_COUNT  # noqa: PLC0415 (honours the quotas of containers)
    from distributed import Client, LocalCluster  # noqa: PLC0415

    # Dask would have malloc give memory back at once; small models then spend a third of their time on
    # page faults. Replacing its settings leaves malloc alone.
    environment = {"distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1}}
    with interrupts_blocked(), dask.config.set(environment):
        cluster = LocalCluster(
            n_workers=min(CPU_COUNT, cells),
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        )
    with cluster, Client(cluster) as client:
        yield client


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Processes started meanwhile never see Ctrl-C: it is ours to close them, without their tracebacks."""
    resource_tracker.ensure_running()  # starting it later would unblock the signal again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


EXECUTORS: dict[str, Submit] = {"inline": inline, "dask": dask}


def run(cells: Sequence[Cell], store: Store, submit: Submit = inline) -> list[Record]:
    """The record of every cell, in order; what the store lacks is run and stored at once.

    Raises:
        CellsFailedError: after all cells have been tried, if some raised.
    """
    found = {cell.key: store.find(cell) for cell in cells}
    missing = list({cell.key: cell for cell in cells if found[cell.key] is None}.values())
    failures: list[Outcome] = []
    for outcome in _progress(submit, missing):
        if isinstance(outcome.record, Exception):
            failures.append(outcome)
        else:
            store.add(outcome.record)
            found[outcome.cell.key] = outcome.record
    if failures:
        lines = [f"  cell {cell.key}: {type(error).__name__}: {error}" for cell, error in failures]
        raise CellsFailedError(
            f"{len(failures)} of {len(missing)} cells failed, the others are stored:\n" + "\n".join(lines)
        )
    return [record for cell in cells if (record := found[cell.key])]


def _progress(submit: Submit, cells: Sequence[Cell]) -> Iterator[Outcome]:
    """The outcomes as they come, with one bar that counts work, not cells, and says when it ends."""
    if not cells:
        return
    bar = tqdm(
        total=sum(cell.cost for cell in cells),
        bar_format="{desc} {percentage:3.0f}%|{bar}| [{elapsed}, {remaining} left]",
        mininterval=0.5 if sys.stderr.isatty() else 15,
        desc=f"0/{len(cells)} cells",
    )
    with bar:
        for done, outcome in enumerate(submit(cells), start=1):
            bar.set_description_str(f"{done}/{len(cells)} cells", refresh=False)
            bar.update(outcome.cell.cost)
            yield outcome
