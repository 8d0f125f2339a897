"""``blockproof COMMAND …``: the project's commands by one name, from any folder."""

import importlib
import sys
from importlib import resources

COMMANDS = {
    "check": "judge a model of yours: blockproof check FILE.py:FACTORY [pytest options]",
    "train": "train a model by a recipe: blockproof train RECIPE [KEY=VALUE …]",
    "resume": "go on with a run that stopped: blockproof resume FOLDER",
    "generate": "continue a prompt: blockproof generate CHECKPOINT --prompt TEXT",
    "describe": "a config in numbers: blockproof describe CONFIG",
    "ablate": "run the ablations: blockproof ablate run | status | clean",
    "report": "make or check the report",
}


def main(words: list[str] | None = None) -> int:
    """Find the command and hand it the other words; 2 if there is none."""
    words = sys.argv[1:] if words is None else words
    if not words or words[0] not in COMMANDS:
        lines = [f"  {name:<10}{text}" for name, text in COMMANDS.items()]
        print("\n".join(["usage: blockproof COMMAND …", *lines]), file=sys.stderr)
        return 2
    command, *rest = words
    if command == "check":
        return check(rest)
    module = {"ablate": "ablations", "report": "report"}.get(command, "model")
    own = rest if module != "model" else [command, *rest]  # the model's commands are several
    return int(importlib.import_module(f"blockproof.{module}.__main__").main(own))


def check(words: list[str]) -> int:
    """Run the conformance tests on a model, with settings of their own and nothing of the user's."""
    import pytest  # noqa: PLC0415 (only this command needs it)

    if not words or words[0].startswith("-"):
        print("usage: blockproof check FILE.py:FACTORY [pytest options]", file=sys.stderr)
        return 2
    ini = resources.files("blockproof.tests.conformance") / "pytest.ini"
    own = ["-c", str(ini), "-p", "no:cacheprovider", "--pyargs", "blockproof.tests.conformance"]
    return int(pytest.main([*own, "--model", *words]))


if __name__ == "__main__":
    sys.exit(main())
