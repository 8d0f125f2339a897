"""Notebooks are thin, stored clean, say what they read, and run in this environment."""

import ast
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import papermill
import pytest

from blockproof.ablations import notebook
from blockproof.ablations.catalogue import ABLATIONS
from blockproof.model.schema import ConfigError
from blockproof.tests.unit.ablations.samples import cells

FOLDER = Path(notebook.__file__).parent
SMOKE = len(cells("position", "smoke"))
TRAINED = sum(cell.run == "train" for cell in cells("position", "smoke"))


def load(path: Path) -> list[dict[str, Any]]:
    """A notebook's cells."""
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    return found


def code(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def names(source: str, context: type[ast.expr_context]) -> set[str]:
    """The variables that code reads (``ast.Load``) or sets (``ast.Store``)."""
    return {
        n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name) and isinstance(n.ctx, context)
    }


@pytest.fixture(params=ABLATIONS)
def code_cells(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """The code cells of each notebook as it is stored."""
    return [cell for cell in load(FOLDER / f"{request.param}.ipynb") if cell["cell_type"] == "code"]


def test_every_ablation_has_a_notebook_and_no_other_lies_around() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(ABLATIONS)


def test_stored_without_outputs(code_cells: list[dict[str, Any]]) -> None:
    assert not [cell for cell in code_cells if cell["outputs"] or cell["execution_count"] is not None]


def test_thin(code_cells: list[dict[str, Any]]) -> None:
    assert sum(len(cell["source"]) for cell in code_cells) <= 30


def test_parameters_are_declared_once_first_and_all_are_read(code_cells: list[dict[str, Any]]) -> None:
    tagged = [i for i, cell in enumerate(code_cells) if "parameters" in cell["metadata"].get("tags", ())]
    assert tagged == [0]
    declared = names(code(code_cells[0]), ast.Store)
    assert declared
    assert declared <= set().union(*(names(code(cell), ast.Load) for cell in code_cells[1:]))


def test_an_unknown_parameter_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no parameter 'scales'; did you mean 'scale'"):
        notebook.execute("position", tmp_path / "n.ipynb", {"scales": "smoke"})
    assert not (tmp_path / "n.ipynb").exists()


class Executed(NamedTuple):
    """A notebook that was run, and where it put what it made."""

    path: Path
    store: Path
    out: Path

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text("utf-8")) for path in self.store.glob("*.json")]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Executed:
    """The fastest notebook, run while the user has a broken kernel of the usual name."""
    folder = tmp_path_factory.mktemp("notebook")
    kernel = folder / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    stale = {"argv": ["/bin/false"], "display_name": "stale", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(stale), encoding="utf-8")
    done = Executed(folder / "n.ipynb", folder / "records", folder / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_DATA_DIR", str(folder / "jupyter"))
        patch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
        run(done, steps=2)
        assert os.environ["JUPYTER_PATH"] == str(folder / "jupyter"), "the user's path was not restored"
    return done


def run(which: Executed, steps: int) -> None:
    parameters = {
        "scale": "smoke", "records": str(which.store), "out": str(which.out),
        "overrides": {"train.steps": steps},
    }  # fmt: skip
    notebook.execute("position", which.path, parameters, timeout=120)


def test_shows_its_figure_and_saves_it_with_its_data(executed: Executed) -> None:
    shown = [output for cell in load(executed.path) for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in shown)
    saved = {path.name for path in executed.out.iterdir() if path.stat().st_size}
    assert saved == {
        "position-light.png", "position-dark.png", "position.csv",
        "position-text.csv", "position-order.csv", "position-permutation.csv",
    }  # fmt: skip


def test_another_value_of_a_parameter_gives_other_records(executed: Executed) -> None:
    """And cells that do not have the parameter are not run again."""
    assert [r["cell"]["train"]["steps"] for r in executed.records() if r["cell"]["train"]] == [2] * TRAINED
    run(executed, steps=3)
    steps = [record["cell"]["train"].get("steps") for record in executed.records()]
    assert (steps.count(2), steps.count(3), len(steps)) == (TRAINED, TRAINED, SMOKE + TRAINED)


def test_a_cell_that_raises_makes_it_raise(tmp_path: Path) -> None:
    with pytest.raises(papermill.PapermillExecutionError, match="did you mean 'smoke'"):
        notebook.execute("position", tmp_path / "n.ipynb", {"scale": "smoek", "records": str(tmp_path)})
