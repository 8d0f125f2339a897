"""What is installed is whole, and takes no name that a user may want."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# Imports through the names under which the project is installed; then the files that come with it.
PROBE = """
import json, sys
import model
import blockproof.model.transformer, blockproof.ablations.catalogue, blockproof.report.build
from importlib import resources
from blockproof.model.config import preset
from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.fingerprint import ENTRY, sources

notebooks = [resources.files("blockproof.ablations") / f"{name}.ipynb" for name in ABLATIONS]
template = resources.files("blockproof.report") / "template.md.j2"
ours = [module for name, module in sys.modules.items() if name.startswith("blockproof.")]
print(json.dumps({
    "model": model.WHOSE,
    "files": [module.__file__ for module in ours if module.__file__],
    "sources": [str(path) for path in sources(ENTRY).values()],
    "data": [file.is_file() for file in [*notebooks, template]],
    "layers": preset("gpt2-124m").n_layers,
}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the source and unpacked where nothing else is."""
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("this is not a source tree")
    folder = tmp_path_factory.mktemp("packaging")
    left_out = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    source = shutil.copytree(ROOT, folder / "source", ignore=left_out)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        ".",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--quiet",
    ]
    subprocess.run([*build, "--wheel-dir", str(folder)], cwd=source, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def test_nothing_is_installed_beside_the_project_s_own_name(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if path.suffix != ".dist-info"} == {"blockproof"}


@pytest.mark.parametrize("pattern", ["*.py", "*.yaml", "*.ipynb", "*.j2"])
@pytest.mark.parametrize("package", ["model", "ablations", "report", "tests"])
def test_every_file_of_the_source_is_installed(installed: Path, package: str, pattern: str) -> None:
    def files(root: Path) -> set[Path]:
        return {path.relative_to(root) for path in (root / package).rglob(pattern)}

    assert files(installed / "blockproof") == files(ROOT)


def test_works_beside_a_user_s_own_module_called_model(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("WHOSE = 'the user'", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    probe = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=tmp_path, env=environment, check=True, capture_output=True
    )
    found = json.loads(probe.stdout)
    assert found["model"] == "the user"
    assert found["files"]
    assert not [path for path in [*found["files"], *found["sources"]] if not path.startswith(str(installed))]
    assert all(found["data"])
    assert found["layers"] == 12
