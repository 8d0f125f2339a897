"""A run in a folder: its log, and stopping and going on as if nothing had happened."""

import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from blockproof.model import checkpoint, session
from blockproof.model.checkpoint import CheckpointError
from blockproof.model.log import read_log
from blockproof.model.recipe import Recipe
from blockproof.model.session import CHECKPOINT, DivergedError, Session
from blockproof.model.train import train
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import copies, same
from blockproof.tests.unit.running.recipes import small


def ran(folder: Path, stop_at: int | None = None, **changes: Any) -> Session:
    folder.mkdir(exist_ok=True)
    made = Session(small(**changes), folder)
    made.run(stop_at)
    return made


def told(folder: Path, name: str) -> dict[int, Any]:
    """What the log says of one thing, by update."""
    return {point["step"]: point[name] for point in read_log(folder / "log.jsonl") if name in point}


def test_the_log_has_everything(tmp_path: Path) -> None:
    ran(tmp_path)
    for name in ("loss", "perplexity", "lr", "grad_norm"):
        assert list(told(tmp_path, name)) == [0, 2, 4, 6, 8]
    for name in ("validation_loss", "validation_perplexity"):
        assert list(told(tmp_path, name)) == [0, 4, 8, 9]
    rms = told(tmp_path, "activation_rms")
    assert list(rms) == [0, 4, 8]
    assert list(rms[0]) == ["embedding", "block 0", "block 1", "final norm"]
    assert told(tmp_path, "peak_memory_bytes")[0] > 0
    speeds = told(tmp_path, "tokens_per_second")
    assert speeds[0] is None, "the first update is looked into: its time says nothing"
    assert all(speed > 0 for step, speed in speeds.items() if step)
    assert all(0 < share < 1 for step, share in told(tmp_path, "mfu").items() if step)


def test_the_log_is_that_of_the_experiments(tmp_path: Path) -> None:
    """A session and ``train`` are the same run."""
    ran(tmp_path)
    recipe = small()
    torch.manual_seed(recipe.seed)
    history = train(Transformer(recipe.model), recipe.source(), recipe.train, recipe.seed)
    assert told(tmp_path, "loss") == {point.step: point.loss for point in history.training}
    assert told(tmp_path, "validation_loss") == {point.step: point.loss for point in history.validation}


@pytest.mark.parametrize("stop", [1, 4, 5, 8])
def test_a_run_that_stopped_goes_on_to_the_bit(stop: int, tmp_path: Path) -> None:
    whole = ran(tmp_path / "whole")
    ran(tmp_path / "parts", stop)
    torch.manual_seed(99)
    torch.rand(5)
    resumed = Session.resumed(tmp_path / "parts")
    assert resumed.trainer.step == stop
    resumed.run()
    assert same(copies(resumed.trainer.model), copies(whole.trainer.model))
    assert same(resumed.trainer.state(), whole.trainer.state())
    for name in ("loss", "lr", "grad_norm", "validation_loss", "activation_rms"):
        assert told(tmp_path / "parts", name) == told(tmp_path / "whole", name)


def test_the_recipe_comes_with_the_checkpoint(tmp_path: Path) -> None:
    ran(tmp_path, 2, train__lr=0.005)
    assert Session.resumed(tmp_path).recipe == small(train__lr=0.005)


def test_points_behind_the_checkpoint_are_left_out(tmp_path: Path) -> None:
    """A run that was killed has told more than it kept."""
    ran(tmp_path, 5)
    kept = (tmp_path / CHECKPOINT).read_bytes()
    Session.resumed(tmp_path).run(8)
    (tmp_path / CHECKPOINT).write_bytes(kept)
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"step": 8, "lo')
    Session.resumed(tmp_path).run()
    whole = ran(tmp_path / "whole")
    assert told(tmp_path, "loss") == told(whole.folder, "loss")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_update_and_keeps_it(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, press = signal.getsignal(number), [3]
    made = Session(small(), tmp_path)
    backward = made.trainer.backward

    def interrupted() -> Any:
        if made.trainer.step == press[0]:
            signal.raise_signal(number)
        return backward()

    monkeypatch.setattr(made.trainer, "backward", interrupted)
    made.run()
    assert made.stopped
    assert checkpoint.load(tmp_path / CHECKPOINT).facts["step"] == 4
    assert signal.getsignal(number) == usual
    Session.resumed(tmp_path).run()
    assert told(tmp_path, "loss") == told(ran(tmp_path / "whole").folder, "loss")


def test_ctrl_c_twice_stops_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Session(small(), tmp_path)

    def impatient() -> Any:
        if made.trainer.step == 6:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return backward()

    backward = made.trainer.backward
    monkeypatch.setattr(made.trainer, "backward", impatient)
    with pytest.raises(KeyboardInterrupt):
        made.run()
    assert checkpoint.load(tmp_path / CHECKPOINT).facts["step"] == 4


def test_divergence_names_its_update_and_place(tmp_path: Path) -> None:
    made = Session(small(), tmp_path)
    made.run(5)
    with torch.no_grad():
        for name, parameter in made.trainer.model.named_parameters():
            if name.startswith("blocks.1.feedforward.sublayer") and parameter.ndim == 2:
                parameter.fill_(1e30)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with pytest.raises(DivergedError, match=r"at update 5: .*in the output of blocks\.1\.feedforward"):
        made.run()
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    assert told(tmp_path, "diverged_in")[5].startswith("the output of blocks.1.feedforward")


def test_another_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(tmp_path, 2)
    kept = checkpoint.load(tmp_path / CHECKPOINT)
    text = {"source": "text", "sha256": "0" * 64, "validation_windows": 4}
    recipe = {**kept.facts["recipe"], "data": text}
    checkpoint.save(tmp_path / CHECKPOINT, kept.tensors, {**kept.facts, "recipe": recipe})
    with pytest.raises(ValueError, match="this run needs the text with SHA-256 000000000000"):
        Session.resumed(tmp_path)


def test_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        Session.resumed(tmp_path)


def test_a_full_disk_keeps_the_earlier_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(tmp_path, 4)
    before = (tmp_path / CHECKPOINT).read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CheckpointError, match="No space left on device"):
        Session.resumed(tmp_path).run()
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_evaluation_does_not_change_the_run(tmp_path: Path) -> None:
    often, seldom = ran(tmp_path / "a", train__eval_every=1), ran(tmp_path / "b", train__eval_every=100)
    assert same(copies(often.trainer.model), copies(seldom.trainer.model))
    assert told(tmp_path / "a", "loss") == told(tmp_path / "b", "loss")


def test_the_state_is_all_that_a_session_is(tmp_path: Path) -> None:
    facts = checkpoint.load(ran(tmp_path, 3).folder / session.CHECKPOINT).facts
    assert facts == {"recipe": small().to_dict(), "step": 3, "alphabet": None}
    assert Recipe.from_dict(facts["recipe"]) == small()
