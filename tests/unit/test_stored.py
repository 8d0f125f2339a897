"""What is in a checkpoint goes back into a run or a model: all of it, or one error that names the file."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from blockproof.model import checkpoint, hub
from blockproof.model.checkpoint import CheckpointError
from blockproof.model.generate import generate
from blockproof.model.session import CHECKPOINT, Session
from blockproof.model.stored import model_of, save_model
from blockproof.model.trainer import Trainer
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import (
    copies,
    same,
    tiny_ids,
    tiny_learner,
    tiny_model,
    tiny_source,
    tiny_training,
)
from blockproof.tests.unit.running.recipes import small
from blockproof.tests.unit.running.runs import Command, command_of

Change = Callable[[dict[str, Tensor], dict[str, Any]], object]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return command_of(capsys)


def run(folder: Path, change: Change = lambda tensors, facts: None) -> Path:
    """The folder of a run of 2 updates; what its checkpoint holds is changed."""
    folder.mkdir(exist_ok=True)
    Session(small(), folder).run(2)
    tensors, facts = checkpoint.load(folder / CHECKPOINT)
    change(tensors, facts)
    checkpoint.save(folder / CHECKPOINT, tensors, facts)
    return folder


def trainer(model: Transformer | None = None) -> Trainer:
    return Trainer(tiny_learner() if model is None else model, tiny_source(), tiny_training(), 3)


def advance(made: Trainer, steps: int) -> Trainer:
    for _ in range(steps):
        made.update(made.backward())
    return made


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda tensors, facts: facts.pop("recipe"), "no recipe of the kind dict, but none"),
        (lambda tensors, facts: facts.update(recipe=[]), "no recipe of the kind dict, but list"),
        (lambda tensors, facts: facts["recipe"].update(model=3), "no model of the kind dict, but int"),
        (lambda tensors, facts: facts["recipe"]["model"].pop("d_model"), "needs a value for 'd_model'"),
        (lambda tensors, facts: facts["recipe"]["model"].update(d_model=10), r"has shape \(\d+, 8\) in the weights"),
        (lambda tensors, facts: facts["recipe"]["model"].update(n_layers=3), "weights lack .*blocks.2"),
        (lambda tensors, facts: tensors.pop("model.norm.bias"), "weights lack .*norm.bias"),
        (lambda tensors, facts: tensors.update({"model.norm.bios": torch.ones(8)}), "no .*did you mean .*norm.bias"),
        (lambda tensors, facts: tensors.update({"model.norm.bias": torch.ones(9)}), r"norm.bias has shape \(9,\)"),
    ],
)  # fmt: skip
def test_neither_a_run_nor_a_model(change: Change, problem: str, tmp_path: Path, command: Command) -> None:
    folder = run(tmp_path, change)
    with pytest.raises(ValueError, match=problem):
        Session.resumed(folder)
    told = command("generate", folder, "--prompt", "3 1", "--tokens", "1")
    with pytest.raises(CheckpointError, match=problem) as error:
        model_of(folder / CHECKPOINT)
    assert told.error == f"error: {error.value}"
    assert str(folder / CHECKPOINT) in told.error


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda tensors, facts: facts.pop("step"), "no step of the kind int, but none"),
        (lambda tensors, facts: facts.update(step=True), "no step of the kind int, but bool"),
        (lambda tensors, facts: facts.update(step=-1), "tells of -1 updates"),
        (lambda tensors, facts: facts["recipe"].pop("train"), "no train of the kind dict, but none"),
        (lambda tensors, facts: facts["recipe"].update(data="order"), "no data of the kind dict, but str"),
        (lambda tensors, facts: tensors.pop("random.data"), "weights lack 'random.data'"),
        (lambda tensors, facts: tensors.pop("random.dropout"), "weights lack 'random.dropout'"),
        (lambda tensors, facts: tensors.update({"random.data": torch.ones(3)}), r"random.data has shape \(3,\)"),
        (lambda tensors, facts: tensors.pop("optimizer.norm.bias.exp_avg_sq"), "lack 'optimizer.norm.bias.exp_a"),
        (lambda tensors, facts: tensors.update({"optimizer.norm.bias.exp_avg": torch.ones(9)}), r"exp_avg has shape"),
        (lambda tensors, facts: facts.update(step=0), r"no 'optimizer.*left over"),
    ],
)  # fmt: skip
def test_a_model_but_no_run(change: Change, problem: str, tmp_path: Path) -> None:
    path = run(tmp_path, change) / CHECKPOINT
    with pytest.raises(CheckpointError, match=problem) as error:
        Session.resumed(tmp_path)
    assert str(path) in str(error.value)
    assert generate(model_of(path)[0], [[1]], 1)


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    one, other = advance(trainer(), 2), advance(trainer(), 1)
    kept = {name: tensor.clone() for name, tensor in one.state().items()}
    before = {name: tensor.clone() for name, tensor in other.state().items()}
    with pytest.raises(CheckpointError):
        other.restore({name: x for name, x in kept.items() if name != "optimizer.norm.bias.step"}, 2)
    assert other.step == 1
    assert same(other.state(), before)


def test_a_compiled_model_leaves_no_trace(tmp_path: Path) -> None:
    """Saved and restored on either side; the moments too find their parameters again."""

    def compiled() -> Trainer:
        return trainer(cast(Transformer, torch.compile(tiny_learner(), backend="eager")))

    with torch.compiler.set_stance("force_eager"):
        plain, wrapped = advance(trainer(), 2), advance(compiled(), 2)
        for source in (plain, wrapped):
            checkpoint.save(tmp_path / "c", source.state(), {})
            kept = checkpoint.load(tmp_path / "c").tensors
            assert kept.keys() == plain.state().keys()
            unsaved = {name: tensor.clone() for name, tensor in source.state().items()}
            expected = copies(advance(source, 1).model).values()
            for target, state in product((trainer(), compiled()), (kept, unsaved)):
                target.restore(state, 2)
                found = copies(advance(target, 1).model).values()
                assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("tied", [True, False])
def test_a_tie_survives(tied: bool, tmp_path: Path) -> None:
    """The head follows the embedding after loading as before, and is not stored a second time."""
    model, ids = tiny_model(tied=tied), tiny_ids()
    save_model(tmp_path / "c", model)
    assert ("model.head.weight" in checkpoint.load(tmp_path / "c").tensors) is not tied
    kept, alphabet = model_of(tmp_path / "c")
    assert alphabet is None
    assert torch.equal(kept(ids), model(ids))
    before = kept.head.weight.clone() if kept.head is not None else None
    with torch.no_grad():
        for each in (kept, model):
            each.token.weight[0] += 1.0
    assert torch.equal(kept(ids), model(ids))
    assert before is None or (kept.head is not None and torch.equal(kept.head.weight, before))
    assert not torch.equal(kept(ids)[..., 0], model_of(tmp_path / "c")[0](ids)[..., 0])


def test_a_state_holds_parameters_only_and_fits_a_longer_context(tmp_path: Path) -> None:
    model = tiny_model(position="alibi")
    assert model.state_dict().keys() == dict(model.named_parameters()).keys()
    longer = tiny_model(position="alibi", context=20)
    save_model(tmp_path / "c", model)
    longer.load_state_dict(model_of(tmp_path / "c")[0].state_dict())
    assert torch.equal(longer(ids := tiny_ids()), model(ids))


def test_a_model_alone_is_no_run(tmp_path: Path, command: Command) -> None:
    save_model(tmp_path / CHECKPOINT, tiny_model())
    assert "holds no recipe of the kind dict, but none" in command("resume", tmp_path).error
    assert command("generate", tmp_path, "--prompt", "3 1", "--tokens", "2").status == 0
    with pytest.raises(CheckpointError, match="is there already: choose another name"):
        save_model(tmp_path / CHECKPOINT, tiny_model())


def test_out_to_the_hub_and_in_again(tmp_path: Path, command: Command) -> None:
    """By the command line; the text that is generated is the same."""
    folder = run(tmp_path / "run")
    assert command("export", folder, tmp_path / "hub") == (0, "", "")
    told = command("import", tmp_path / "hub", "--out", tmp_path / "model.safetensors")
    assert (told.status, told.err) == (0, "")
    words = ("--prompt", "3 1", "--tokens", "9", "--seed", "4")
    expected = command("generate", folder, *words)
    assert command("generate", tmp_path / "model.safetensors", *words) == expected
    weights = hub.read(tmp_path / "hub").state_dict()
    assert same(weights, model_of(folder / CHECKPOINT)[0].state_dict())
    assert "has contents already" in command("export", folder, tmp_path / "hub").error
    assert "is there already" in command("import", tmp_path / "hub", "--out", folder / CHECKPOINT).error
