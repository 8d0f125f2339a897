"""A checkpoint comes back to the bit, as one file, and nothing that is not one is taken for one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from blockproof.model.checkpoint import HEADER, CheckpointError, load, save
from blockproof.tests.helpers import same

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.bool)
FACTS: dict[str, Any] = {
    "step": 2**70, "loss": 0.1 + 0.2, "tiny": 5e-324, "minus": -0.0, "none": None, "on": True, "one": 1.0,
    "text": 'ä\n"\ud800\x00', "nested": {"z": [1, [2.5, {}], []], "a": ""},
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.safetensors"


def contents() -> dict[str, Tensor]:
    """Weights, moments and random states, as a trainer has them, and every other kind."""
    odd = torch.tensor([float("nan"), float("inf"), -0.0, 1e-310], dtype=torch.float64)
    return {
        "model.token.weight": torch.randn(5, 3),
        "optimizer.token.weight.exp_avg": torch.randn(5, 3),
        "optimizer.token.weight.step": torch.tensor(7.0),
        "random": torch.get_rng_state(),
        "ids": torch.tensor([2**63 - 1, -(2**63)]),
        "odd": odd,
        "turned": torch.randn(4, 6).T[1:, ::2],
        "none": torch.zeros(0, 3),
        "trained": torch.nn.Parameter(torch.randn(2)),
    } | {f"as.{dtype}": (9 * torch.randn(3)).to(dtype) for dtype in DTYPES}


def bits(tensors: Mapping[str, Tensor]) -> dict[str, tuple[torch.dtype, torch.Size, bytes]]:
    plain = {name: x.detach().contiguous() for name, x in tensors.items()}
    return {
        name: (x.dtype, x.shape, x.flatten().view(torch.uint8).numpy().tobytes()) for name, x in plain.items()
    }


def header(path: Path) -> dict[str, Any]:
    with safe_open(path, framework="pt") as file:
        return dict(json.loads(file.metadata()[HEADER]))


def rewrite(path: Path, about: object) -> None:
    """A file with one tensor and a header of our choice."""
    save_file({"a": torch.ones(2)}, path, {HEADER: about if isinstance(about, str) else json.dumps(about)})


def test_comes_back_to_the_bit(path: Path) -> None:
    tensors = contents()
    save(path, tensors, FACTS)
    kept = load(path)
    assert bits(kept.tensors) == bits(tensors)
    assert json.dumps(kept.facts) == json.dumps(
        FACTS
    )  # which tells 1 from 1.0, 0 from -0, and keeps the order
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_equal_contents_make_equal_bytes(path: Path) -> None:
    tensors = contents()
    save(path, tensors, FACTS)
    first = path.read_bytes()
    save(path, dict(reversed(tensors.items())), FACTS)
    assert path.read_bytes() == first


def test_what_is_loaded_does_not_hang_on_the_file(path: Path) -> None:
    save(path, {"a": torch.ones(10**5)}, {})
    kept = load(path).tensors["a"]
    with path.open("r+b") as file:
        file.seek(-400_000, 2)
        file.write(bytes(400_000))
    assert kept.sum() == 10**5


def test_any_flipped_byte_is_refused(path: Path) -> None:
    save(path, {"a": torch.randn(3), "b": torch.tensor([1, 0], dtype=torch.int8)}, {"step": 3, "lr": 1e-3})
    whole = path.read_bytes()
    assert len(whole) < 600
    for place in range(len(whole)):
        for flip in (0x01, 0x80):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            with pytest.raises(CheckpointError, match=r"run\.safetensors"):
                load(path)


def test_any_truncation_is_refused(path: Path) -> None:
    save(path, {"a": torch.randn(3)}, {"step": 3})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(
            CheckpointError, match=r"run\.safetensors is not a whole .*: it is empty, cut off, damaged"
        ):
            load(path)


def test_exchanged_contents_are_refused(path: Path) -> None:
    """A file that is in order as such, with another tensor, name, fact or alias under the same digest."""
    a, b = torch.ones(2), torch.zeros(2)
    save(path, {"a": a, "b": b}, {"step": 3})
    about = header(path)
    changed: list[tuple[dict[str, Tensor], dict[str, Any]]] = [
        ({"a": b, "b": a}, {}),
        ({"a": a}, {}),
        ({"a": a, "c": b}, {}),
        ({"a": a, "b": b.view(2, 1)}, {}),
        ({"a": a, "b": b.int()}, {}),
        ({"a": a, "b": b}, {"facts": {"step": 4}}),
        ({"a": a, "b": b}, {"aliases": {"c": "a"}}),
        ({"a": a, "b": b}, {"sha256": ""}),
    ]
    for tensors, change in changed:
        save_file(tensors, path, {HEADER: json.dumps(about | change)})
        with pytest.raises(CheckpointError, match="is damaged, it does not hold what was written"):
            load(path)


@pytest.mark.parametrize(
    "about",
    ["", "[]", "{}", "NaN", '{"format": NaN}', '{"format": 1, "facts": 1e999}', "[" * 10**5 + "]" * 10**5,
     '{"format": ' + "1" * 5000 + "}", {"format": 1}, {"format": 1, "facts": [], "aliases": {}, "sha256": ""},
     {"format": 1, "facts": {}, "aliases": {"b": "a"}, "sha256": "", "more": 0},
     {"format": 1, "facts": {}, "aliases": {"b": ["a"]}, "sha256": ""}],
)  # fmt: skip
def test_a_hostile_header_is_refused(path: Path, about: object) -> None:
    rewrite(path, about)
    with pytest.raises(CheckpointError, match=r"run\.safetensors is damaged"):
        load(path)


def test_another_format_and_foreign_weights(path: Path) -> None:
    rewrite(path, {"format": 2, "anything": []})
    with pytest.raises(CheckpointError, match="a checkpoint of format 2, and this blockproof reads format 1"):
        load(path)
    save_file({"a": torch.ones(2)}, path, {"format": "pt"})
    with pytest.raises(CheckpointError, match=r"holds weights alone .* blockproof\.model\.hub\.read"):
        load(path)


@pytest.mark.parametrize(
    ("fact", "problem"),
    [(float("nan"), "not JSON compliant"), (float("inf"), "not JSON compliant"), (torch.ones(1), "Tensor"),
     ((1, 2), "come back changed"), ({1: 2}, "come back changed"), ({(1,): 2}, "keys must be str")],
)  # fmt: skip
def test_facts_that_would_not_come_back(path: Path, fact: object, problem: str) -> None:
    with pytest.raises(CheckpointError, match=rf"run\.safetensors cannot be written: the facts .*{problem}"):
        save(path, {}, {"fact": {"deep": [fact]}})
    with pytest.raises(CheckpointError, match="the facts are no JSON data"):
        save(path, {}, {"fact": 10**5000})
    assert not path.exists()


def test_a_tensor_with_two_names_keeps_both(path: Path) -> None:
    table, part = torch.randn(500, 3), torch.randn(6)
    tied = {"token": table, "head": table, "top": part[:3], "rest": part[3:]}
    save(path, tied, {})
    assert path.stat().st_size < 1.2 * table.nbytes  # stored once
    kept = load(path).tensors
    assert kept["token"] is kept["head"]
    assert same(kept, tied)


@pytest.mark.parametrize(
    "view", [lambda x: x.T, lambda x: x[1:], lambda x: x.view(-1), lambda x: x.view(torch.int32)]
)
def test_views_of_one_memory_are_refused(path: Path, view: Any) -> None:
    table = torch.randn(3, 3)
    with pytest.raises(CheckpointError, match="a and b are views of one memory but not the same: clone"):
        save(path, {"a": table, "b": view(table)}, {})


@pytest.mark.parametrize(
    "tensor", [torch.ones(2, device="meta"), torch.eye(2).to_sparse(), torch.ones(2, dtype=torch.complex128)]
)
def test_tensors_that_cannot_be_stored(path: Path, tensor: Tensor) -> None:
    with pytest.raises(CheckpointError, match="cannot"):
        save(path, {"model.odd": tensor}, {})


def test_a_compiled_models_names_are_the_bare_ones(path: Path) -> None:
    x, y = torch.ones(2), torch.zeros(2)
    save(path, {"model._orig_mod.blocks.0._orig_mod.weight": x, "model.my_orig_mod.weight": y}, {})
    assert list(load(path).tensors) == ["model.blocks.0.weight", "model.my_orig_mod.weight"]
    with pytest.raises(CheckpointError, match="two tensors are named 'model"):
        save(path, {"model._orig_mod.x": x, "model.x": y}, {})
    with pytest.raises(CheckpointError, match="under the name '__metadata__'"):
        save(path, {"__metadata__": x}, {})
