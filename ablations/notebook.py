"""Runs an ablation's notebook with papermill, in a kernel of this very environment."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import papermill

from blockproof.model.schema import ConfigError, hint

KERNEL = "blockproof"


def execute(name: str, output: Path, parameters: Mapping[str, Any], timeout: float | None = None) -> None:
    """Run the notebook of an ablation and keep it, with its outputs, at ``output``.

    Args:
        name: of the notebook, without its ending.
        output: the executed notebook.
        parameters: values for parameters that the notebook declares; papermill itself would take
            any others in silence.
        timeout: seconds a cell may take; None for no limit.

    Raises:
        ConfigError: for a parameter that the notebook does not declare.
        papermill.PapermillExecutionError: if a cell raises.
    """
    with resources.as_file(resources.files("blockproof.ablations") / f"{name}.ipynb") as path:
        declared = papermill.inspect_notebook(str(path))
        for key in parameters:
            if key not in declared:
                raise ConfigError(f"the notebook {name} has no parameter {key!r}{hint(key, declared)}")
        output.parent.mkdir(parents=True, exist_ok=True)
        with own_kernel():
            papermill.execute_notebook(
                str(path), str(output), parameters=dict(parameters), kernel_name=KERNEL,
                progress_bar=False, execution_timeout=timeout,
            )  # fmt: skip


@contextmanager
def own_kernel() -> Iterator[None]:
    """While entered, Jupyter knows a kernel that is this interpreter.

    A kernel called ``python3`` may be a stale one of the user's, which would win over this
    environment's; so ours has a name and a folder of its own, and stands first on the path.
    """
    before = os.environ.get("JUPYTER_PATH")
    with tempfile.TemporaryDirectory() as folder:
        kernel = Path(folder, "kernels", KERNEL)
        kernel.mkdir(parents=True)
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=CRITICAL"]
        spec = {"argv": argv, "display_name": KERNEL, "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
        os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, (folder, before)))
        try:
            yield
        finally:
            if before is None:
                del os.environ["JUPYTER_PATH"]
            else:
                os.environ["JUPYTER_PATH"] = before
