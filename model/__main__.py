"""``python -m blockproof.model describe CONFIG``: a model in numbers."""

import argparse
import sys

from blockproof.model.config import find, presets
from blockproof.model.describe import describe
from blockproof.model.schema import ConfigError


def main(words: list[str] | None = None) -> int:
    """Parse the command line, do it, and give the exit status: 1 for a config that cannot be used."""
    top = argparse.ArgumentParser(prog="python -m blockproof.model", description="Look at a model.")
    commands = top.add_subparsers(required=True, metavar="describe")
    text = "print parameters by part, the formula and its error, memory and operations"
    command = commands.add_parser("describe", help=text, description=text)
    command.add_argument("config", metavar="CONFIG", help=f"a YAML file, or one of {', '.join(presets())}")
    arguments = top.parse_args(words)
    try:
        print(describe(find(arguments.config)))
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
