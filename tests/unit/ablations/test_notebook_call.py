"""How a notebook is called, without the minutes that running one takes."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import papermill
import pytest
from jupyter_client.kernelspec import KernelSpecManager

from blockproof.ablations import notebook
from blockproof.ablations.study import Results
from blockproof.ablations.views import style
from blockproof.model.schema import ConfigError

Calls = list[dict[str, Any]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What papermill was asked to run, and the kernel that it would have run it in; it runs nothing."""
    made: Calls = []

    def execute(path: str, output: str, **settings: Any) -> None:
        kernel = KernelSpecManager().get_kernel_spec(settings["kernel_name"]).argv
        made.append({"path": Path(path).resolve(), "output": output, "kernel": kernel, **settings})

    monkeypatch.setattr(papermill, "execute_notebook", execute)
    return made


def test_papermill_gets_all_that_is_given(calls: Calls, tmp_path: Path) -> None:
    given = {"scale": "smoke", "records": "here"}
    notebook.execute("position", tmp_path / "deep" / "n.ipynb", given, timeout=7.5)
    notebook.execute("position", tmp_path / "m.ipynb", {})
    for call, parameters, timeout in zip(calls, (given, {}), (7.5, None), strict=True):
        assert (call["parameters"], call["execution_timeout"]) == (parameters, timeout)
        assert call["kernel_name"] == notebook.KERNEL
        assert call["path"].name == "position.ipynb"
    assert calls[0]["output"] == str(tmp_path / "deep" / "n.ipynb")
    assert (tmp_path / "deep").is_dir()


def test_a_parameter_that_is_not_declared_starts_nothing(calls: Calls, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no parameter 'scales'; did you mean 'scale'"):
        notebook.execute("position", tmp_path / "n.ipynb", {"scales": "smoke"})
    assert calls == []


def test_it_does_not_matter_where_one_stands(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook.execute("residual", tmp_path / "n.ipynb", {})
    assert calls[0]["path"] == Path(notebook.__file__).resolve().parent / "residual.ipynb"


def test_the_kernel_is_this_interpreter(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the user has a kernel of the same name; and the user's path is as it was afterwards."""
    own = tmp_path / "kernels" / notebook.KERNEL
    own.mkdir(parents=True)
    (own / "kernel.json").write_text('{"argv": ["/bin/false"], "display_name": "x", "language": "python"}')
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    notebook.execute("position", tmp_path / "n.ipynb", {})
    assert calls[0]["kernel"][0] == sys.executable
    assert os.environ["JUPYTER_PATH"] == str(tmp_path)
    monkeypatch.delenv("JUPYTER_PATH")
    notebook.execute("position", tmp_path / "n.ipynb", {})
    assert calls[1]["kernel"][0] == sys.executable
    assert "JUPYTER_PATH" not in os.environ


@pytest.mark.parametrize("theme", style.THEMES)
def test_the_figure_is_shown_once(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn in its theme, of the frames, and handed to the notebook."""
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    results = Results("position", [])
    results.__dict__["frames"] = {"runs": "all"}
    view = SimpleNamespace(figure=lambda frames: (frames, plt.rcParams["figure.facecolor"]))
    monkeypatch.setattr(results, "view", view)
    results.show(theme)
    assert shown == [({"runs": "all"}, style.THEMES[theme].ground)]
