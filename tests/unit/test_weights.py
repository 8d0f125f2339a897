"""Weights go into a module all or not at all, with its ties, and to the names that they are meant for."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import torch
from torch import Tensor, nn

from blockproof.model import checkpoint
from blockproof.model.checkpoint import CheckpointError
from blockproof.model.transformer import Transformer
from blockproof.model.weights import load_weights
from blockproof.tests.helpers import copies, same, tiny_config, tiny_ids, tiny_model

modes = pytest.mark.parametrize("assign", [False, True], ids=["copied", "assigned"])
TIES = {"a tie": lambda head, token: setattr(head, "weight", token.weight),
        "a tie by data": lambda head, token: setattr(head.weight, "data", token.weight.data)}  # fmt: skip


class Foreign(nn.Module):
    """As others tie: the head has a name of its own for the embedding's matrix."""

    def __init__(self, tie: Callable[[nn.Module, nn.Module], None] | None = TIES["a tie"]) -> None:
        super().__init__()
        self.token, self.head, self.norm = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False), nn.LayerNorm(4)
        if tie is not None:
            tie(self.head, self.token)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.norm(self.token(ids)))


def through_a_file(module: nn.Module, folder: Path) -> dict[str, Tensor]:
    checkpoint.save(folder / "w.safetensors", module.state_dict(), {})
    return checkpoint.load(folder / "w.safetensors").tensors


@modes
def test_ours_gives_equal_logits(tmp_path: Path, assign: bool) -> None:
    model, other, ids = tiny_model(), tiny_model(), tiny_ids()
    assert not torch.equal(model(ids), other(ids))
    load_weights(other, through_a_file(model, tmp_path), assign=assign)
    assert torch.equal(model(ids), other(ids))
    assert other.head is None


def test_into_a_longer_context() -> None:
    """With places that are worked out, a state has parameters only and fits any context."""
    model, longer = (
        tiny_model(position="rope", d_model=24),
        tiny_model(position="rope", d_model=24, context=20),
    )
    assert model.state_dict().keys() == dict(model.named_parameters()).keys()
    load_weights(longer, model.state_dict())
    assert torch.equal(model(ids := tiny_ids()), longer(ids))


@modes
@pytest.mark.parametrize("tie", TIES.values(), ids=TIES)
def test_a_tie_survives(tmp_path: Path, assign: bool, tie: Callable[[nn.Module, nn.Module], None]) -> None:
    model, other, ids = Foreign(tie), Foreign(tie), tiny_ids(vocab_size=7)
    n_parameters = len(list(other.parameters()))
    load_weights(other, through_a_file(model, tmp_path), assign=assign)
    assert torch.equal(model(ids), other(ids))
    with torch.no_grad():
        other.token.weight += 1
    assert torch.equal(other.head.weight, other.token.weight)
    assert len(list(other.parameters())) == (2 + 1 if assign else n_parameters)


@modes
@pytest.mark.parametrize("left_out", ["token.weight", "head.weight"])
def test_one_name_of_a_tie_is_enough(left_out: str, assign: bool) -> None:
    model, other, ids = Foreign(), Foreign(), tiny_ids(vocab_size=7)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items() if name != left_out}
    load_weights(other, state, assign=assign)
    assert other.head.weight is other.token.weight
    assert torch.equal(model(ids), other(ids))


@modes
def test_other_ties_are_refused(assign: bool) -> None:
    tied, untied = Foreign(), Foreign(None)
    for module, state, problem in (
        (tied, untied.state_dict(), "token.weight and head.weight are tied in the module, and differ"),
        (untied, tied.state_dict(), "token.weight and head.weight are one tensor in the weights: tie them"),
    ):
        before = copies(module)
        with pytest.raises(CheckpointError, match=problem):
            load_weights(module, state, assign=assign)
        assert same(copies(module), before)


def test_onto_the_meta_device() -> None:
    model = tiny_model()
    with torch.device("meta"):
        bare, tied = Transformer(tiny_config()).eval(), Foreign()
    load_weights(bare, model.state_dict(), assign=True)
    assert torch.equal(model(ids := tiny_ids()), bare(ids))
    load_weights(tied, Foreign().state_dict(), assign=True)
    assert tied.head.weight is tied.token.weight
    assert all(parameter.requires_grad for parameter in tied.parameters())


def compiled(module: nn.Module) -> nn.Module:
    return cast(nn.Module, torch.compile(module, backend="eager"))


@modes
def test_compiled_or_not(tmp_path: Path, assign: bool) -> None:
    """Neither side's wrapper is in the file or in the way, on whichever level it stands."""
    model = tiny_model()
    for source in (compiled(model), model):
        stored = through_a_file(source, tmp_path)
        assert stored.keys() == model.state_dict().keys()
        for state in (stored, source.state_dict()):
            bare, inside = tiny_model(), tiny_model()
            inside.blocks[1] = compiled(inside.blocks[1])
            for target, module in ((bare, bare), (compiled(whole := tiny_model()), whole), (inside, inside)):
                load_weights(target, state, assign=assign)
                pairs = zip(module.parameters(), model.parameters(), strict=True)
                assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"token.weight": None}, r"lack 'token.weight' \(1 missing\)$"),
        ({"token.weight": None, "tokens.weight": (11, 12)},
         r"lack 'token.weight' \(1 missing\); did you mean 'tokens.weight'"),
        ({"blocks.0.atention.norm.weight": (12,)},
         r"no 'blocks.0.atention.norm.weight' \(1 left over\); did you mean 'blocks.0.attention.norm.weight'"),
        ({"blocks.2.attention.norm.weight": (12,)}, r"no 'blocks.2.attention.norm.weight'"),
        ({"token.weight": (12, 11)}, r"token.weight has shape \(12, 11\) in the weights, \(11, 12\) in the module"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_and_nothing_changes(
    change: dict[str, tuple[int, ...] | None], problem: str
) -> None:
    model = tiny_model()
    before, state = copies(model), tiny_model().state_dict()
    for name, shape in change.items():
        state.pop(name, None)
        if shape is not None:
            state[name] = torch.randn(shape)
    with pytest.raises(CheckpointError, match=problem):
        load_weights(model, state)
    assert same(copies(model), before)


def test_one_of_three_names() -> None:
    matrix = nn.Parameter(torch.zeros(2, 2))
    module = nn.ParameterDict(dict.fromkeys("abc", matrix))
    load_weights(module, {"c": torch.ones(2, 2)})
    assert matrix.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(CheckpointError, match="tied in the module, and differ"):
        load_weights(module, {"b": torch.ones(2, 2), "c": torch.zeros(2, 2)})
