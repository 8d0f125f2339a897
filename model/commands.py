"""The commands behind ``python -m blockproof.model``: train, resume, generate, import, export, describe."""

import sys
from argparse import Namespace
from pathlib import Path

import torch
import yaml

from blockproof.model import hub, recipe
from blockproof.model.checkpoint import CheckpointError
from blockproof.model.config import find, presets
from blockproof.model.describe import describe
from blockproof.model.generate import generate
from blockproof.model.sampling import Sampling
from blockproof.model.schema import ConfigError
from blockproof.model.session import CHECKPOINT, Session
from blockproof.model.stored import model_of, save_model
from blockproof.model.text import decode, encode
from blockproof.model.transformer import InputError

INTERRUPTED = 130  # a shell's own status for Ctrl-C


def train(given: Namespace) -> int:
    """Start a run in a folder of its own."""
    _check(given)
    changes = dict(map(_change, given.changes))
    chosen = recipe.find(given.recipe, changes)
    folder = Path(given.out or f"runs/{Path(given.recipe).stem}")
    if (folder / CHECKPOINT).exists():
        raise CheckpointError(
            f"{folder} holds a run already: go on with it ({_resume(folder)}), or give --out"
        )
    folder = writable(folder)
    return _run(Session(chosen, folder, device=given.device, tensorboard=given.tensorboard), given)


def resume(given: Namespace) -> int:
    """Go on with a run, exactly as it would have gone on by itself."""
    _check(given)
    folder = Path(given.folder)
    return _run(Session.resumed(folder, device=given.device, tensorboard=given.tensorboard), given)


def write(given: Namespace) -> int:
    """Print a prompt and what a trained model makes of it."""
    path = Path(given.checkpoint)
    model, alphabet = model_of(path / CHECKPOINT if path.is_dir() else path)
    if alphabet is None and given.prompt.isspace():
        raise InputError("the prompt is empty: this model has no alphabet, give it ids such as '3 1 4'")
    settings = Sampling(temperature=given.temperature, top_k=given.top_k, top_p=given.top_p)
    ids = generate(model, [encode(given.prompt, alphabet)], given.tokens, settings=settings, seed=given.seed)
    print(decode(ids[0], alphabet))
    return 0


def bring(given: Namespace) -> int:
    """Make a checkpoint of a model in the layout of the Hugging Face hub."""
    path = Path(given.out)
    save_model(path, hub.read(given.source))
    print(f"{path}: to use it, python -m blockproof.model generate {path} --prompt '3 1 4'")
    return 0


def export(given: Namespace) -> int:
    """Write a trained model in the layout of the Hugging Face hub."""
    path = Path(given.checkpoint)
    hub.write(model_of(path / CHECKPOINT if path.is_dir() else path)[0], Path(given.folder))
    return 0


def tell(given: Namespace) -> int:
    """Print a model in numbers."""
    name = given.config
    is_recipe = name in recipe.recipes() and name not in presets()
    print(describe(recipe.find(name).model if is_recipe else find(name)))
    return 0


def writable(folder: Path) -> Path:
    """The folder, made if need be, if files can be made in it.

    Raises:
        CheckpointError: if not; an hour of training would be lost.
    """
    probe = folder / ".writable"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CheckpointError(
            f"{folder} cannot be written ({error.strerror}): give another with --out"
        ) from error
    return folder


def _check(given: Namespace) -> None:
    """What the parser cannot know.

    Raises:
        ConfigError: if the update is none, or torch cannot use the device.
    """
    if given.stop_at is not None and given.stop_at < 1:
        raise ConfigError(f"--stop-at must be at least 1, got {given.stop_at}")
    try:
        torch.empty(0, device=given.device)
    except (RuntimeError, AssertionError) as error:  # torch's way to say that it was built without
        raise ConfigError(f"--device {given.device} cannot be used: {str(error).splitlines()[0]}") from error


def _run(session: Session, given: Namespace) -> int:
    session.run(given.stop_at)
    if session.stopped:
        done = f"stopped after update {session.trainer.step} of {session.recipe.train.steps}"
        print(f"{done}; to go on: {_resume(session.folder)}", file=sys.stderr)
        return INTERRUPTED
    return 0


def _resume(folder: Path) -> str:
    return f"python -m blockproof.model resume {folder}"


def _change(word: str) -> tuple[str, object]:
    path, equals, value = word.partition("=")
    if not equals:
        raise ConfigError(f"{word!r} is no setting: write key=value, such as train.lr=1e-3")
    try:
        return path, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ConfigError(f"the value of {word!r} cannot be read: {error}") from error
