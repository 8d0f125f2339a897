"""A report of fabricated records, and quick ways to it."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blockproof.ablations import study
from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.record import pack
from blockproof.ablations.spec import Spec
from blockproof.ablations.views.style import THEMES
from blockproof.report.build import build
from blockproof.tests.unit.ablations import fabricated
from blockproof.tests.unit.ablations.samples import cells
from blockproof.tests.unit.report.fabricated_evidence import evidence

SCALE = "smoke"


@pytest.fixture(scope="session")
def quick_cells() -> Iterator[None]:
    """Specs are expanded once for all tests."""

    def remembered(spec: Spec, scale: str, overrides: Any = None) -> Any:
        return cells(spec.name, scale)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "expand", remembered)
        yield


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Figures that no notebook drew."""
    folder = tmp_path_factory.mktemp("drawn")
    for name in ABLATIONS:
        for theme in THEMES:
            (folder / f"{name}-{theme}.png").write_bytes(f"{name} in {theme}".encode())
    return folder


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fabricated records of all ablations."""
    pack(fabricated.everything(SCALE), path := tmp_path_factory.mktemp("records") / "all.json.xz")
    return path


@pytest.fixture(scope="session")
def evidence_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fabricated evidence of the test suite."""
    path = tmp_path_factory.mktemp("evidence") / "evidence.json"
    path.write_text(json.dumps(evidence()), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def pristine(
    tmp_path_factory: pytest.TempPathFactory,
    archive: Path,
    evidence_file: Path,
    drawn: Path,
    quick_cells: None,
) -> Path:
    """A finished report; tests work on copies."""
    folder = tmp_path_factory.mktemp("report")
    build(folder, scale=SCALE, records=archive, evidence=evidence_file, drawn=drawn)
    return folder


@pytest.fixture
def report(pristine: Path, tmp_path: Path) -> Path:
    """A finished report that may be spoilt."""
    return shutil.copytree(pristine, tmp_path / "report")
