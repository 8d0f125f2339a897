"""What determines a result, as one short name: the cell, the source that ran it, the arithmetic."""

import ast
import importlib.util
import platform
import subprocess
from functools import lru_cache
from pathlib import Path

import torch

from blockproof.ablations.cell import Cell, digest

PACKAGE = "blockproof."
ENTRY = "blockproof.ablations.runs"  # the module from which every run starts


def fingerprint(cell: Cell) -> str:
    """Equal fingerprints mean equal results on one kind of processor: a stored record can stand for a run.

    Another Python version may write the same source differently; then cells are run again.
    """
    return digest({"cell": cell.to_dict(), "source": source_digest(), "arithmetic": arithmetic()})


def arithmetic() -> str:
    """The kind of machine, as far as the last bits of a sum depend on it."""
    return f"torch {torch.__version__}, {platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"


@lru_cache
def source_digest() -> str:
    """Names the code that can influence a result, whatever its comments, docstrings and layout."""
    return digest({name: normalised(file.read_text("utf-8")) for name, file in sources(ENTRY).items()})


def sources(entry: str) -> dict[str, Path]:
    """The project's modules that ``entry`` imports, directly or not, with their files; itself too."""
    found: dict[str, Path] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = locate(name)
            tree = ast.parse(found[name].read_text("utf-8"))
            parent = name.rpartition(".")[0]  # importing a module runs its package first
            waiting += [module for module in (parent, *imported(tree)) if module.startswith(PACKAGE)]
    return dict(sorted(found.items()))


def imported(tree: ast.Module) -> list[str]:
    """Every module that is named after ``from`` or ``import``, ``from package import module`` included."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom) and node.module:
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            names += [node.module, *(module for module in submodules if is_module(module))]
    return names


def is_module(name: str) -> bool:
    """Whether the project has a module of this name."""
    if not name.startswith(PACKAGE):
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is a module, not a package: it names a class or a function
        return False


def locate(name: str) -> Path:
    """The file of a module that can be imported."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{name} has no source file")
    return Path(spec.origin)


def normalised(source: str) -> str:
    """Source without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


@lru_cache
def commit() -> str:
    """The version-control commit of this source, marked ``+`` if files differ from it."""
    folder = Path(__file__).parent
    try:
        name = _git(folder, "rev-parse", "--short=12", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + ("+" if changed else "")


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
