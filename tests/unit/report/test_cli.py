"""The report's command line: exit statuses, and one line of reason."""

from pathlib import Path

import pytest

from blockproof.report.__main__ import main
from blockproof.report.build import RECORDS, TEXT
from blockproof.tests.unit.report.conftest import SCALE

pytestmark = pytest.mark.usefixtures("quick_cells")


def test_build_then_check(
    tmp_path: Path, archive: Path, drawn: Path, evidence_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--folder", str(tmp_path / "new"), "--scale", SCALE]
    assert (
        main([*common, "--records", str(archive), "--evidence", str(evidence_file), "--drawn", str(drawn)])
        == 0
    )
    assert "nothing was published before" in capsys.readouterr().out
    assert main([*common, "--check"]) == 0
    assert "is what its records give" in capsys.readouterr().out


def test_a_check_that_fails_gives_1_and_says_what_and_what_to_do(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (report / TEXT).unlink()
    assert main(["--folder", str(report), "--scale", SCALE, "--check"]) == 1
    shown = capsys.readouterr()
    assert f"{TEXT} is not what the records give" in shown.err
    assert "make report" in shown.out


@pytest.mark.parametrize("words", [[], ["--check"]])
def test_missing_records_give_1_and_one_line(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--folder", str(tmp_path / "new"), "--scale", SCALE, *words]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith(f"error: there are no records at {tmp_path / 'new' / RECORDS}")
    assert "make ablations" in error


def test_missing_figures_give_1_and_one_line(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--folder", str(report), "--scale", SCALE, "--drawn", str(tmp_path)]) == 1
    assert "lacks" in capsys.readouterr().err
