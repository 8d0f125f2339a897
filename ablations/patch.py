"""A fault, planted: a change of the project's own source text, in force while a block runs.

Nothing is written and nothing imported anew. The changed text is compiled, and the functions that differ
exchange their code: every name under which they are known, anywhere, then runs the fault.
"""

import ast
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef


class PatchError(ValueError):
    """A patch that does not fit the source; the message names it and says why."""


@dataclass(frozen=True)
class Patch:
    """Text of a module, exchanged.

    Attributes:
        module: its name below ``blockproof``, such as ``model.attention``.
        old: occurs in it exactly once, inside of functions; it need not be whole lines.
        new: stands there instead.
    """

    module: str
    old: str
    new: str

    @property
    def name(self) -> str:
        """The module's full name."""
        return f"blockproof.{self.module}"

    def source(self, text: str | None = None) -> str:
        """The module's text with the change, or a text of it that has been changed before.

        Raises:
            PatchError: if the old text is not there, or more than once.
        """
        if text is None:
            text = Path(importlib.import_module(self.name).__file__ or "").read_text("utf-8")
        if (times := text.count(self.old)) != 1:
            raise PatchError(f"{self.name} holds {self.old!r} {times} times, once is needed: adapt the patch")
        return text.replace(self.old, self.new)


@contextmanager
def planted(*patches: Patch) -> Iterator[None]:
    """Run the block with these changes in force; afterwards all is as it was."""
    sources: dict[str, str] = {}
    for patch in patches:  # several of one module make one text
        sources[patch.name] = patch.source(sources.get(patch.name))
    with ExitStack() as stack:
        for name, source in sources.items():
            stack.enter_context(exchanged(name, source))
        yield


@contextmanager
def exchanged(name: str, source: str) -> Iterator[None]:
    """Run the block with the functions of a module as another source of it has them.

    Raises:
        PatchError: if the sources do not differ, or differ outside of what functions do when called.
    """
    module = importlib.import_module(name)
    file = module.__file__ or ""
    before, after = ast.parse(Path(file).read_text("utf-8")), ast.parse(source)
    codes = dict(_codes(compile(after, file, "exec", dont_inherit=True)))
    changed = [live(module, path) for path in _changed(name, before, after)]
    for function in changed:
        if codes[function.__qualname__].co_freevars != function.__code__.co_freevars:
            raise PatchError(
                f"{name}: {function.__qualname__} would close over other names: it cannot change"
            )
    originals = [function.__code__ for function in changed]
    _forget(module)
    try:
        for function in changed:
            function.__code__ = codes[function.__qualname__]
        yield
    finally:
        for function, code in zip(changed, originals, strict=True):
            function.__code__ = code
        _forget(module)


def live(module: ModuleType, path: str) -> FunctionType:
    """The plain function at a dotted path, below every decorator."""
    found: Any = module
    for name in path.split("."):
        found = inspect.getattr_static(found, name)
    while not isinstance(found, FunctionType) or hasattr(found, "__wrapped__"):
        for inner in ("__func__", "fget", "func", "__wrapped__"):
            if hasattr(found, inner):
                found = getattr(found, inner)
                break
        else:
            raise PatchError(f"{module.__name__}.{path} is no function: it cannot be changed")
    return found


def functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Every function by its dotted path, those inside of functions left out."""

    def below(node: ast.Module | ast.ClassDef, path: str) -> Iterator[tuple[str, Function]]:
        for child in node.body:
            if isinstance(child, Function):
                yield path + child.name, child
            elif isinstance(child, ast.ClassDef):
                yield from below(child, f"{path}{child.name}.")

    return below(tree, "")


def _changed(name: str, before: ast.Module, after: ast.Module) -> list[str]:
    """The paths of the functions whose bodies differ; nothing else may."""
    old, new = (
        {path: [ast.dump(line) for line in node.body] for path, node in functions(tree)}
        for tree in (before, after)
    )
    for tree in (before, after):
        for _, node in functions(tree):
            node.body = [ast.Pass()]
    if ast.dump(before) != ast.dump(after):
        raise PatchError(f"{name}: the change is outside of function bodies, where it would have no effect")
    if not (paths := [path for path in old if old[path] != new[path]]):
        raise PatchError(f"{name}: the change changes nothing")
    return paths


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """Every compiled function, by its qualified name."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_qualname, constant
            yield from _codes(constant)


def _forget(module: ModuleType) -> None:
    """Empty the module's caches: they hold what the other code found."""
    for value in vars(module).values():
        clear: Callable[[], None] | None = getattr(value, "cache_clear", None)
        if isinstance(value, functools._lru_cache_wrapper) and clear:
            clear()
