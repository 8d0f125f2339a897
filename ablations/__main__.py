"""``python -m blockproof.ablations run | status | clean | reproduce``."""

import argparse
import sys
import time
from pathlib import Path

from blockproof.ablations import engine, notebook, reproduction
from blockproof.ablations.catalogue import ABLATIONS, ablation
from blockproof.ablations.cell import Cell
from blockproof.ablations.fingerprint import arithmetic, source_digest
from blockproof.ablations.guard import guarded
from blockproof.ablations.spec import SCALES, expand
from blockproof.ablations.store import Store


def main(words: list[str] | None = None) -> int:
    """Parse the command line, do it, and give the exit status."""
    arguments = parser().parse_args(words)
    kept = f"finished cells are kept in {arguments.records}; run again to go on"
    return guarded(lambda: arguments.do(arguments), when_interrupted=kept)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m blockproof.ablations", description="Run the ablations.")
    commands = top.add_subparsers(required=True, metavar="run | status | clean | reproduce")
    for name, do, text in (
        ("run", run, "train what is not stored yet, then execute the notebooks"),
        ("status", status, "say how many cells are stored"),
        (
            "clean",
            clean,
            "delete the records that no ablation would find again: of other source, text or machine",
        ),
        ("reproduce", reproduce, "run a published configuration again on the text that CORPUS names"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(do=do)
        command.add_argument("--records", type=Path, default=Path(".blockproof/records"), metavar="FOLDER")
        if do in (run, status):
            command.add_argument(
                "--scale", default="standard", help=f"{' or '.join(SCALES)} (default: standard)"
            )
            command.add_argument(
                "--only", action="append", metavar="ABLATION", help=f"of {', '.join(ABLATIONS)}"
            )
    run_command, reproduce_command = commands.choices["run"], commands.choices["reproduce"]
    for command in (run_command, reproduce_command):
        command.add_argument("--executor", default="dask", choices=list(engine.EXECUTORS))
    reproduce_command.add_argument("--file", type=Path, required=True, help="for the records")
    run_command.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="for notebooks, figures and data (default: .blockproof/SCALE)",
    )
    return top


def run(arguments: argparse.Namespace) -> int:
    """Train every missing cell of the chosen ablations, then execute their notebooks."""
    cells = chosen(arguments)
    everything = [cell for group in cells.values() for cell in group]
    store = Store(arguments.records)
    print(reuse_line(everything, store), flush=True)
    start = time.perf_counter()
    engine.run(everything, store, engine.EXECUTORS[arguments.executor])
    out = arguments.out or Path(".blockproof", arguments.scale)
    for name in cells:
        print(f"notebook {name} → {out}", flush=True)
        parameters = {"scale": arguments.scale, "records": str(arguments.records), "out": str(out)}
        notebook.execute(name, out / f"{name}.ipynb", parameters)
    print(f"done in {time.perf_counter() - start:.0f} s")
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Print how many cells of each chosen ablation are stored."""
    for name, cells in chosen(arguments).items():
        print(f"{name}: {reuse_line(cells, Store(arguments.records))}")
    return 0


def clean(arguments: argparse.Namespace) -> int:
    """Delete what no ablation at any scale would find again."""
    current = [cell for name in ABLATIONS for scale in SCALES for cell in expand(ablation(name).spec, scale)]
    print(f"{Store(arguments.records).discard(keep=current)} stale files deleted from {arguments.records}")
    return 0


def reproduce(arguments: argparse.Namespace) -> int:
    """Train what is not stored yet of the reproduction, and pack its records."""
    reproduction.reproduce(Store(arguments.records), arguments.file, engine.EXECUTORS[arguments.executor])
    return 0


def chosen(arguments: argparse.Namespace) -> dict[str, list[Cell]]:
    """The cells of the ablations asked for, all by default."""
    return {name: expand(ablation(name).spec, arguments.scale) for name in arguments.only or ABLATIONS}


def reuse_line(cells: list[Cell], store: Store) -> str:
    """What is reused, and why, in one line."""
    unique = {cell.key: cell for cell in cells}
    stored = sum(store.find(cell) is not None for cell in unique.values())
    reason = f"same cell, source {source_digest()}, {arithmetic()}"
    return f"{len(unique)} cells: {stored} stored ({reason}), {len(unique) - stored} to run"


if __name__ == "__main__":
    sys.exit(main())
