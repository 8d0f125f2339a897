"""From ``FILE.py:FACTORY`` or ``package.module:FACTORY`` to the factory, whoever's folder it lies in."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

Factory = Callable[[], Any]
SUITE = Path(__file__).resolve().parents[1]


class SeamError(Exception):
    """A model that cannot be judged; the message names the problem and the remedy, in one line."""


def load(target: str) -> Factory:
    """The factory that ``target`` names. Its folder comes first on the path from then on.

    Raises:
        SeamError: for a target that is no such name, or whose file, module or factory is missing or fails.
    """
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise SeamError(f"--model {target} must be FILE.py:FACTORY or package.module:FACTORY")
    module = _from_file(Path(where)) if where.endswith(".py") else _from_name(where)
    factory = getattr(module, name, None)
    if factory is None:
        raise SeamError(f"{where} has no {name!r}; it defines: {', '.join(_defined(module)) or 'nothing'}")
    if not callable(factory):
        raise SeamError(f"{target} is a {type(factory).__name__}: name a function that returns the model")
    return factory


def _from_file(path: Path) -> ModuleType:
    """Run a file as the module that its own imports expect it to be."""
    if not path.is_file():
        raise SeamError(f"there is no file {path} (from {Path.cwd()})")
    path = path.resolve()
    root, name = path.parent, path.stem
    while (root / "__init__.py").exists():  # inside of a package, so that relative imports work
        root, name = root.parent, f"{root.name}.{name}"
    _put_first(root)
    if "." in name:
        return _imported(name, str(path))
    if name in sys.modules and Path(getattr(sys.modules[name], "__file__", None) or "") != path:
        name = f"{name}_under_test"  # a file called like a module that is already loaded
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # first: dataclasses look their module up while it runs
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise SeamError(f"{path} cannot be run: {_told(error)}") from error
    return module


def _from_name(name: str) -> ModuleType:
    _put_first(Path.cwd())
    return _imported(name, name)


def _imported(name: str, shown: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise SeamError(f"{shown} cannot be imported: {_told(error)}") from error


def _put_first(folder: Path) -> None:
    """Let imports find this folder's modules first.

    Pytest may have given a name such as ``tests`` to the suite's own files; it is handed back.
    """
    if sys.path[:1] != [str(folder)]:
        sys.path.insert(0, str(folder))
    theirs = {path.stem for path in folder.iterdir()}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in theirs and file and SUITE in Path(file).resolve().parents:
            del sys.modules[name]


def _defined(module: ModuleType) -> list[str]:
    """The public functions and classes that a module defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not name.startswith("_")
        and getattr(value, "__module__", "") == module.__name__
    ]


def _told(error: BaseException) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]
