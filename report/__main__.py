"""``python -m blockproof.report``: make the report, or with ``--check`` compare it with its records."""

import argparse
import sys
from pathlib import Path

from blockproof.ablations.guard import guarded
from blockproof.report.build import build, check


def main(words: list[str] | None = None) -> int:
    """Parse the command line, do it, and give the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m blockproof.report", description="Make or check the report."
    )
    parser.add_argument(
        "--check", action="store_true", help="fail if the report is not what its records give"
    )
    parser.add_argument("--folder", type=Path, default=Path("report"), help="of the report (default: report)")
    parser.add_argument("--scale", default="standard", help="of the records (default: standard)")
    parser.add_argument("--records", type=Path, help="store or archive (default: the report's own records)")
    parser.add_argument("--evidence", type=Path, help="of the test suite (default: the report's own)")
    parser.add_argument("--drawn", type=Path, help="the notebooks' output (default: execute them)")
    arguments = parser.parse_args(words)
    return guarded(lambda: run(arguments), when_interrupted="the report may be half done; run again")


def run(arguments: argparse.Namespace) -> int:
    """Make the report, or check it."""
    if arguments.check:
        return tell(check(arguments.folder, scale=arguments.scale), arguments.folder)
    line = build(
        arguments.folder, scale=arguments.scale, records=arguments.records,
        evidence=arguments.evidence, drawn=arguments.drawn,
    )  # fmt: skip
    print(f"{arguments.folder}/report.md: {line}")
    return 0


def tell(wrong: list[str], folder: Path) -> int:
    """Print what is wrong with a report; 0 if nothing is."""
    for line in wrong:
        print(f"{folder}: {line}", file=sys.stderr)
    print("run 'make report' to make it anew" if wrong else f"{folder} is what its records give")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
