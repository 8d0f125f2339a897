"""Claims about the whole loop: a toy that learns, a log that tells, a model that is trained, resumed and used."""

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import yaml

from blockproof.model.__main__ import main
from blockproof.model.checkpoint import load
from blockproof.model.log import read_log
from blockproof.model.recipe import Recipe, find
from blockproof.model.session import CHECKPOINT, DivergedError, Session
from blockproof.model.train import train
from blockproof.model.transformer import Transformer
from blockproof.tests.claims.claim import HOLDS, Claim, Found
from blockproof.tests.claims.measuring import verdict
from blockproof.tests.helpers import parameter

CLEARLY = 0.2  # nats
TOLD = (
    "loss", "perplexity", "validation_loss", "validation_perplexity", "lr", "grad_norm", "activation_rms",
    "tokens_per_second", "mfu", "peak_memory_bytes",
)  # fmt: skip
WEIGHT = "blocks.1.attention.sublayer.output.weight"
SMALL: dict[str, Any] = {
    "model": {"context": 9, "d_model": 16, "n_layers": 2, "embedding_dropout": 0.1},
    "train": {"steps": 12, "batch_size": 8, "lr": 1e-2, "log_every": 3, "eval_every": 6},
    "data": {"source": "order", "symbols": 8, "asked": 1, "validation_windows": 8},
}


def toy_learns() -> Found:
    """The recipe of the toy, cut short."""
    recipe = find("toy", {"train.steps": 120, "train.eval_every": 120, "data.validation_windows": 128})
    source, model = recipe.source(), Transformer(recipe.model)
    losses = [point.loss for point in train(model, source, recipe.train, data_seed=0).validation]
    return Found(
        verdict(0.0 < losses[-1] < source.blind_loss - CLEARLY),
        "Already in the first {updates} of its updates the validation loss falls from {start:.2f} to {end:.2f} nats; "
        "a model that sees no context ends at {blind:.2f}.",
        {"updates": recipe.train.steps, "start": losses[0], "end": losses[-1], "blind": source.blind_loss},
    )


def log_tells() -> Found:
    """What is told of a run; then one layer is blown up, and what is told of that."""
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        session = Session(Recipe.from_dict(SMALL), Path(folder))
        session.run()
        points = read_log(Path(folder) / "log.jsonl")
        told = {name for point in points for name, value in point.items() if value is not None}
        with torch.no_grad():
            parameter(session.trainer.model, WEIGHT)[0, 0] = torch.inf
        session.trainer.step -= 1
        try:
            session.run()
            words = "nothing"
        except DivergedError as error:
            words = str(error)
    layers = sorted({len(point["activation_rms"]) for point in points if "activation_rms" in point})
    named = WEIGHT in words and "update 11" in words
    return Found(
        verdict(set(TOLD) <= told and named),
        "A run tells {told} of the {asked} quantities asked for, the activations of {layers} layers among them. With "
        "one infinite weight in a layer it ends with these words: “{words}”.",
        {"told": len(told & set(TOLD)), "asked": len(TOLD), "layers": layers[-1], "words": words},
    )


def loop_closes() -> Found:
    """By the commands alone: a YAML config, a run that stops, one that goes on, one that never stopped, a text."""
    with TemporaryDirectory() as folder:
        config = Path(folder, "small.yaml")
        config.write_text(yaml.safe_dump(SMALL), encoding="utf-8")
        parts, whole = (str(Path(folder, name)) for name in ("parts", "whole"))
        statuses = [
            quietly("train", str(config), "--out", parts, "--stop-at", "5"),
            quietly("resume", parts),
            quietly("train", str(config), "--out", whole),
            quietly("generate", parts, "--prompt", "1 2 3", "--tokens", "9", "--temperature", "0"),
        ]
        one, other = (load(Path(each, CHECKPOINT)).tensors for each in (parts, whole))
    written = statuses[-1][1].split()
    differ = sum(not torch.equal(one[name], other[name]) for name in other)
    return Found(
        verdict(all(status == 0 for status, _ in statuses) and differ == 0 and len(written) == 12),
        "{commands} commands, from a YAML config to a text of {tokens} tokens, end with status {status}; of the "
        "{tensors} tensors of a run that stopped and went on, {differ} differ from those of one that did not.",
        {
            **{"commands": len(statuses), "tokens": len(written), "status": max(s for s, _ in statuses)},
            **{"tensors": len(other), "differ": differ},
        },
    )


def quietly(*words: str) -> tuple[int, str]:
    """The exit status of a command, and what it printed."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        return main(list(words)), out.getvalue()


CLAIMS = (
    Claim("B11, at first", "the toy GPT of the lesson learns a character-level corpus", HOLDS, toy_learns),
    Claim(
        "C13",
        "training tells loss and perplexity of both splits, rate, gradient norm, activations by layer, speed and "
        "memory, so that a mean loss hides no layer that is not finite",
        HOLDS,
        log_tells,
    ),
    Claim("C14", "a config, training, resuming and generating close the loop", HOLDS, loop_closes),
)
