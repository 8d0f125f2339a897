"""A factory is found in whoever's folder, and every way to miss it has a message of its own."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blockproof.tests.seam.load import SeamError, load


@pytest.fixture(autouse=True)
def path_and_modules() -> Iterator[None]:
    """What a test puts first or loads is gone afterwards."""
    path, modules = list(sys.path), dict(sys.modules)
    yield
    sys.path[:] = path
    for name in sys.modules.keys() - modules.keys():
        del sys.modules[name]
    sys.modules.update(modules)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's folder with a model.py and a tests/ of their own, seen from elsewhere."""
    (tmp_path / "theirs" / "tests").mkdir(parents=True)
    (tmp_path / "theirs" / "model.py").write_text("WHOSE = 'theirs'\n", encoding="utf-8")
    (tmp_path / "theirs" / "tests" / "__init__.py").touch()
    (tmp_path / "theirs" / "tests" / "util.py").write_text("SIZE = 7\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "theirs"


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_their_model_and_their_tests_win(folder: Path) -> None:
    mine = write(
        folder / "mine.py",
        "from model import WHOSE\nfrom tests.util import SIZE\ndef build(): return WHOSE, SIZE\n",
    )
    assert load(f"{mine}:build")() == ("theirs", 7)
    assert load("theirs/mine.py:build")() == ("theirs", 7)


def test_a_name_that_pytest_gave_to_the_suite_is_handed_back(folder: Path) -> None:
    """As it does with ``tests`` when it runs the conformance tests by their files."""
    ours = type(sys)("tests")
    ours.__file__ = str(Path(load.__code__.co_filename).parents[1] / "__init__.py")
    sys.modules["tests"] = ours
    mine = write(folder / "mine.py", "from tests.util import SIZE\ndef build(): return SIZE\n")
    assert load(f"{mine}:build")() == 7


def test_a_dataclass_finds_its_module(folder: Path) -> None:
    first = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    text = f"{first}@dataclass\nclass C:\n    n: int = 3\n"
    assert load(f"{write(folder / 'mine.py', text)}:C")().n == 3


def test_a_file_inside_of_a_package_may_import_relatively(folder: Path) -> None:
    (folder / "pack" / "inner").mkdir(parents=True)
    for place in (folder / "pack", folder / "pack" / "inner"):
        (place / "__init__.py").touch()
    write(folder / "pack" / "sizes.py", "WIDTH = 5\n")
    mine = write(
        folder / "pack" / "inner" / "mine.py", "from ..sizes import WIDTH\ndef build(): return WIDTH\n"
    )
    assert load(f"{mine}:build")() == 5


def test_a_file_named_like_a_loaded_module_is_run_all_the_same(folder: Path) -> None:
    mine = write(folder / "json.py", "def build(): return 'theirs'\n")
    assert load(f"{mine}:build")() == "theirs"
    assert hasattr(sys.modules["json"], "dumps")


def test_a_module_by_its_name_from_the_working_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    write(folder / "named_model.py", "def build(): return 4\n")
    assert load("named_model:build")() == 4


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("mine.py", "must be FILE.py:FACTORY"),
        (":build", "must be FILE.py:FACTORY"),
        ("mine.py:", "must be FILE.py:FACTORY"),
        ("none.py:build", "there is no file none.py"),
        ("theirs/mine.py:biuld", "has no 'biuld'; it defines: build, Model"),
        ("theirs/mine.py:SIZE", "is a int: name a function"),
        ("theirs/broken.py:build", "cannot be run: ZeroDivisionError: division by zero"),
        ("theirs/syntax.py:build", "cannot be run: SyntaxError"),
        ("theirs/lacking.py:build", "cannot be run: ModuleNotFoundError: No module named 'nowhere'"),
        ("no.such.module:build", "no.such.module cannot be imported: ModuleNotFoundError"),
    ],
)
def test_refuses(target: str, message: str, folder: Path) -> None:
    write(folder / "mine.py", "import json\nSIZE = 3\ndef build(): return 1\nclass Model: pass\n")
    write(folder / "broken.py", "1 / 0\n")
    write(folder / "syntax.py", "def build(:\n")
    write(folder / "lacking.py", "import nowhere\n")
    with pytest.raises(SeamError, match=message) as caught:
        load(target)
    assert "\n" not in str(caught.value)
