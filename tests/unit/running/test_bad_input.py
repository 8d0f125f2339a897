"""What cannot be done ends in one clear line, status 1 and no traceback, before an hour of training is lost."""

import re
import sys
from pathlib import Path

import pytest

from blockproof.tests.unit.running.runs import TEXT, Command, text_file


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("model.context=0", "ModelConfig.context must be at least 1, got 0"),
        ("model.attention.n_heads=3", "d_model 8 cannot be divided among n_heads 3"),
        ("train.lr=-1", "TrainConfig.lr must be at least 0"),
        ("train.lr=1e38", "TrainConfig.lr must be below 1e+36"),
        ("train.lr=.nan", "TrainConfig.lr must be finite"),
        ("train.lr=fast", "TrainConfig.lr must be a number"),
        ("train.steps=0", "TrainConfig.steps must be at least 1"),
        ("train.warmup=9", "a warm-up of 9 steps leaves none of 9"),
        ("train.micro_batch=7", "micro_batch 7 is more than batch_size 6"),
        ("train.learning_rate=1", "a recipe has nothing at 'train.learning_rate'"),
        ("train.stepz=1", "did you mean 'train.steps'"),
        ("model.attention.n_head=2", "did you mean 'model.attention.n_heads'"),
        ("model.norm.kind=layernrom", "did you mean 'layernorm'"),
        ("data.source=ordre", "did you mean 'order'"),
        ("seed=-1", "seed must be an integer of at least 0, got -1"),
        ("train.steps", "'train.steps' is no setting: write key=value"),
        ("train.steps=[", "the value of 'train.steps=[' cannot be read"),
    ],
)
def test_a_setting(setting: str, said: str, command: Command, recipe: Path, tmp_path: Path) -> None:
    assert said in command("train", recipe, setting, "--out", tmp_path / "run").error
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("fresh_texts")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "mine.txt is empty"),
        (b"aaaa", "a single distinct character"),
        (b"ab\xff", "mine.txt is not UTF-8 (byte 2): convert it first"),
        (TEXT[:50].encode(), "mine.txt has 50 characters, too few for a context of 5"),
    ],
)
def test_a_text(
    content: bytes, said: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = text_file(tmp_path, monkeypatch, content)
    assert said in command("train", recipe, "--out", tmp_path / "run").error
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("fresh_texts")
def test_no_text(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = text_file(tmp_path, monkeypatch)
    (tmp_path / "mine.txt").unlink()
    assert "mine.txt cannot be read: No such file" in command("train", recipe).error


def test_a_misspelt_recipe(command: Command) -> None:
    assert "did you mean 'shakespeare_char_cpu'" in command("train", "shakespeare_char_cpuu").error


def test_a_recipe_that_is_not_there(command: Command, tmp_path: Path) -> None:
    assert "none.yaml cannot be read" in command("train", tmp_path / "none.yaml").error


def test_a_folder_that_holds_a_run(command: Command, recipe: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command("train", recipe, "--out", run, "--stop-at", "2")
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    said = command("train", recipe, "--out", run).error
    assert f"{run} holds a run already" in said
    assert f"python -m blockproof.model resume {run}" in said
    assert "--out" in said
    assert {file.name: file.read_bytes() for file in run.iterdir()} == before


def test_a_folder_that_cannot_be_written(command: Command, recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    said = command("train", recipe, "--out", tmp_path / "file" / "run").error
    assert "file/run cannot be written (Not a directory): give another with --out" in said


def test_nothing_to_resume(command: Command, tmp_path: Path) -> None:
    for words in (("resume", tmp_path / "none"), ("generate", tmp_path / "none.safetensors")):
        said = command(*words).error
        assert "there is no" in said
        assert str(words[1]) in said


def test_no_tensorboard(
    command: Command, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    said = command("train", recipe, "--out", tmp_path / "run", "--tensorboard").error
    assert "--tensorboard needs the package: pip install tensorboard" in said


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_no_such_device(device: str, command: Command, recipe: Path, tmp_path: Path) -> None:
    assert device in command("train", recipe, "--out", tmp_path / "run", "--device", device).error


@pytest.mark.parametrize("stop", ["0", "-1"])
def test_no_such_update(stop: str, command: Command, recipe: Path, tmp_path: Path) -> None:
    said = command("train", recipe, "--out", tmp_path / "run", "--stop-at", stop).error
    assert f"--stop-at must be at least 1, got {stop}" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--prompt", ""], "the prompt is empty"),
        ([], "this model has no alphabet, give it ids such as '3 1 4'"),
        (["--prompt", "1 x"], "is ids such as '3 1 4'"),
        (["--prompt", "1 2 3 4 5 6"], "prompt 0: the sequence has 6 tokens, the context holds 5"),
        (["--prompt", "8"], "token id 8 is outside the vocabulary 0 … 7"),
        (["--prompt", "1", "--tokens", "-1"], "n_tokens must be 0 or more, got -1"),
        (["--prompt", "1", "--temperature", "-1"], "Sampling.temperature must be at least 0"),
        (["--prompt", "1", "--temperature", "nan"], "Sampling.temperature must be finite"),
        (["--prompt", "1", "--top-k", "0"], "Sampling.top_k must be at least 1"),
        (["--prompt", "1", "--top-p", "0"], "Sampling.top_p must be above 0"),
    ],
)
def test_a_prompt(words: list[str], said: str, command: Command, recipe: Path, tmp_path: Path) -> None:
    command("train", recipe, "--out", tmp_path / "run", "--stop-at", "1")
    assert said in command("generate", tmp_path / "run", *words).error


@pytest.mark.usefixtures("fresh_texts")
def test_a_character_that_is_not_known(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("train", text_file(tmp_path, monkeypatch), "--out", tmp_path / "run", "--stop-at", "1")
    said = command("generate", tmp_path / "run", "--prompt", "to bé").error
    assert "the model's vocabulary has no character 'é'; it has: " in said
    said = command("generate", tmp_path / "run", "--prompt", "question").error
    assert "prompt 0: the sequence has 8 tokens" in said


def test_a_run_that_diverges(command: Command, recipe: Path, tmp_path: Path) -> None:
    """The words depend on the place, the form does not."""
    words = ("train.lr=1e30", "train.warmup=0", "train.clip=1e38", "train.schedule=constant")
    told = command("train", recipe, *words, "--out", tmp_path / "run")
    last = told.err.splitlines()[-1]
    assert told.status == 1
    assert re.match(r"error: diverged at update \d: .*first not finite in .*; lower train\.lr", last)
    assert "Traceback" not in told.err
