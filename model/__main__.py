"""``python -m blockproof.model train | resume | generate | …``: a model from its recipe to its text."""

import argparse
import sys
from collections.abc import Callable

from blockproof.model import commands
from blockproof.model.checkpoint import CheckpointError
from blockproof.model.config import presets
from blockproof.model.corpus import CorpusError
from blockproof.model.recipe import recipes
from blockproof.model.schema import ConfigError
from blockproof.model.session import DivergedError
from blockproof.model.transformer import InputError

Add = Callable[..., argparse.ArgumentParser]


def main(words: list[str] | None = None) -> int:
    """Parse the command line, do it, and give the exit status: 1 for what cannot be done, 130 if interrupted."""
    top = argparse.ArgumentParser(prog="python -m blockproof.model", description="Make and use a model.")
    add = top.add_subparsers(required=True, metavar=" | ".join(COMMANDS)).add_parser
    for each in COMMANDS.values():
        each(add)
    given = top.parse_args(words)
    try:
        return int(given.do(given))
    except (ConfigError, CorpusError, CheckpointError, InputError, DivergedError) as error:
        print("error:", *map(str.strip, str(error).splitlines()), file=sys.stderr)  # YAML's has many lines
        return 1
    except KeyboardInterrupt:
        print("stopped in the middle of an update: the latest checkpoint is kept", file=sys.stderr)
        return commands.INTERRUPTED


def _train(add: Add) -> None:
    text = "train a model by a recipe; CORPUS=FILE names a text of your own"
    command = add("train", help=text, description=text)
    command.add_argument("recipe", metavar="RECIPE", help=f"a YAML file, or one of {', '.join(recipes())}")
    command.add_argument("changes", metavar="KEY=VALUE", nargs="*", help="such as train.lr=1e-3 or seed=1")
    command.add_argument(
        "--out", metavar="FOLDER", help="of the log and the checkpoint (default: runs/RECIPE)"
    )
    _running(command)
    command.set_defaults(do=commands.train)


def _resume(add: Add) -> None:
    text = "go on with a run that stopped, to the bit as if it had not"
    command = add("resume", help=text, description=text)
    command.add_argument("folder", metavar="FOLDER", help="of the run")
    _running(command)
    command.set_defaults(do=commands.resume)


def _running(command: argparse.ArgumentParser) -> None:
    command.add_argument("--stop-at", type=int, metavar="N", help="keep a checkpoint after update N and end")
    command.add_argument("--device", default="cpu", help="such as cuda (default: cpu)")
    command.add_argument("--tensorboard", action="store_true", help="write for TensorBoard too, if installed")


def _generate(add: Add) -> None:
    text = "continue a prompt"
    command = add("generate", help=text, description=text)
    command.add_argument("checkpoint", metavar="CHECKPOINT", help="the file, or the folder of a run")
    command.add_argument(
        "--prompt", default="\n", help="text, or ids for a model without alphabet (default: a line break)"
    )
    command.add_argument("--tokens", type=int, default=200, metavar="N", help="to add (default: 200)")
    command.add_argument(
        "--temperature", type=float, default=0.8, help="0 takes the likeliest (default: 0.8)"
    )
    command.add_argument("--top-k", type=int, metavar="K", help="draw from the K likeliest only")
    command.add_argument(
        "--top-p", type=float, default=1.0, metavar="P", help="draw from the likeliest that make P"
    )
    command.add_argument("--seed", type=int, default=0, help="of the draws (default: 0)")
    command.set_defaults(do=commands.write)


def _describe(add: Add) -> None:
    text = "print parameters by part, the formula and its error, memory and operations"
    command = add("describe", help=text, description=text)
    known = ", ".join(sorted({*presets(), *recipes()}))
    command.add_argument("config", metavar="CONFIG", help=f"a YAML file, or one of {known}")
    command.set_defaults(do=commands.tell)


def _import(add: Add) -> None:
    text = "make a checkpoint of a GPT-2 or LLaMA of the Hugging Face hub; its prompts are token ids"
    command = add("import", help=text, description=text)
    command.add_argument(
        "source", metavar="FOLDER", help="with config.json and safetensors files, or a name on the hub"
    )
    command.add_argument("--out", metavar="CHECKPOINT", required=True, help="the file to make")
    command.set_defaults(do=commands.bring)


def _export(add: Add) -> None:
    text = "write a model as transformers reads it, as a GPT-2 or LLaMA without a tokenizer"
    command = add("export", help=text, description=text)
    command.add_argument("checkpoint", metavar="CHECKPOINT", help="the file, or the folder of a run")
    command.add_argument("folder", metavar="FOLDER", help="to make")
    command.set_defaults(do=commands.export)


COMMANDS = {
    "train": _train,
    "resume": _resume,
    "generate": _generate,
    "import": _import,
    "export": _export,
    "describe": _describe,
}

if __name__ == "__main__":
    sys.exit(main())
