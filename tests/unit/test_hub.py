"""Folders of the hub's layout: their models become ours and ours theirs, and what cannot be is told clearly."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from blockproof.model import hub
from blockproof.model.checkpoint import CheckpointError
from blockproof.model.nested import with_values
from blockproof.model.schema import ConfigError
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import same, tiny_model
from blockproof.tests.unit.theirs import (
    GPT2,
    config_of,
    in_float64,
    models,
    ours,
    theirs,
    tokens,
    transformers,
)


def stored(folder: Path, name: str = "gpt2", **settings: Any) -> Path:
    """Their model, as they store it."""
    theirs(name).save_pretrained(folder, **settings)
    return folder


def change(file: Path, **values: Any) -> None:
    kept = json.loads(file.read_text())
    file.write_text(json.dumps(kept | values))


def assert_equal(model: Transformer, other: nn.Module) -> None:
    window = tokens()
    with in_float64():
        torch.testing.assert_close(model(window), other(window).logits, rtol=0, atol=1e-12)


@models
@pytest.mark.parametrize("size", ["50GB", "10KB"])
def test_their_folder_becomes_ours(name: str, size: str, tmp_path: Path) -> None:
    other = theirs(name)
    other.save_pretrained(tmp_path, max_shard_size=size)
    assert (tmp_path / "model.safetensors").exists() is (size == "50GB")
    model = hub.read(tmp_path)
    assert model.config == config_of(name)
    assert not model.training
    assert_equal(model, other)


@models
def test_our_folder_becomes_theirs(name: str, tmp_path: Path) -> None:
    model = ours(name)
    hub.write(model, tmp_path / "new")
    other, told = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "new", dtype="auto", output_loading_info=True
    )
    assert not any(told.values()), told
    assert next(other.parameters()).dtype == torch.float64
    assert_equal(model, other.eval())
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["config.json", "model.safetensors"]


@models
def test_there_and_back(name: str, tmp_path: Path) -> None:
    model = ours(name)
    hub.write(model, tmp_path)
    back = hub.read(str(tmp_path))
    told = {"feedforward.width": model.config.d_ff}
    assert back.config.to_dict() == with_values(model.config.to_dict(), told)
    assert same(back.state_dict(), model.state_dict())


def test_their_own_code_agrees_too(tmp_path: Path) -> None:
    """Nothing lifted: their rotary tables and norms in float32."""
    model = ours("llama").float()
    hub.write(model, tmp_path)
    other = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    torch.testing.assert_close(model(window := tokens()), other(window).logits, rtol=1e-4, atol=1e-4)


def test_as_the_first_files_were(tmp_path: Path) -> None:
    """Names without a prefix, masks among the weights, and keys left out that came later."""
    other = theirs("gpt2")
    state = {name.removeprefix("transformer."): x.clone() for name, x in other.state_dict().items()}
    state.pop("lm_head.weight")
    masks = {f"h.{i}.attn.bias": torch.ones(1, 1, 11, 11).tril() for i in range(3)}
    save_file(state | masks, tmp_path / "model.safetensors")
    kept = {"model_type": "gpt2", "n_ctx": 11, "n_positions": 11, "n_embd": 24, "n_head": 6, "n_layer": 3,
            "vocab_size": 29, "layer_norm_epsilon": 1e-5, "embd_pdrop": 0.1}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(kept))
    model = hub.read(tmp_path)
    assert model.config.embedding_dropout == model.config.attention.output_dropout == 0.1
    assert_equal(model, other)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_short_floats_are_widened(dtype: torch.dtype, tmp_path: Path) -> None:
    other = theirs("llama, tied").to(dtype)
    other.save_pretrained(tmp_path)
    weight = hub.read(tmp_path).token.weight
    assert weight.dtype == torch.float32
    assert torch.equal(weight, other.state_dict()["model.embed_tokens.weight"].float())


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("gpt2", {"model_type": "gpt_neox"}, "model_type = 'gpt_neox' is not supported; .*Known: gpt2, llama"),
        ("gpt2", {"model_type": ["gpt2"]}, r"model_type = \['gpt2'\] is not supported"),
        ("gpt2", {"activation_function": "tanh"}, "activation_function = 'tanh' is not supported; .*gelu_new"),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights = False is not supported, only True is"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "inverse_layer_idx = True is not supported"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention = True is not supported"),
        ("gpt2", {"auto_map": {"AutoModel": "mine.py"}}, "auto_map = .* is not supported, only None is"),
        ("gpt2", {"n_embd": "24"}, "d_model must be of type int, got '24'"),
        ("gpt2", {"n_layer": 10**9}, "40 tensors are too few for 1000000000 layers"),
        ("gpt2", {"vocab_size": 10**18}, "no tensors can have the sizes of the config .* overflowed"),
        ("gpt2", {"n_positions": 2**200}, "no tensors can have the sizes of the config"),
        ("gpt2", {"n_embd": 36}, r"wte.weight has shape \(29, 24\), the config asks for \(29, 36\)"),
        ("gpt2", {"tie_word_embeddings": False}, "lack 'lm_head.weight'"),
        ("gpt2", {"layer_norm_epsilon": float("nan")}, "eps must be finite"),
        ("llama", {"hidden_act": "gelu"}, "hidden_act = 'gelu' is not supported, only 'silu' is"),
        ("llama", {"rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}},
         "rope_theta = 500000.0 is not supported, only 10000.0 is"),
        ("llama", {"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}, "rope_type = 'llama3' is not"),
        ("llama", {"rope_theta": 5e5, "rope_parameters": None}, "rope_theta = 500000.0 is not supported"),
        ("llama", {"rope_scaling": {"type": "linear"}}, "rope_scaling = .*linear.* is not supported"),
        ("llama", {"head_dim": 8}, "head_dim = 8 is not supported, only width / heads = 4 is"),
        ("llama", {"sliding_window": 4096}, "sliding_window = 4096 is not supported, only None is"),
        ("llama", {"quantization_config": {"bits": 4}}, "quantization_config = .* is not supported"),
        ("llama", {"num_key_value_heads": 4}, "cannot share n_kv_heads 4 evenly"),
        ("llama", {"attention_bias": True}, "lack 'model.layers.0.self_attn.q_proj.bias'"),
        ("llama, with biases", {"mlp_bias": False}, r"no place for 'model.layers.0.mlp.down_proj.bias' \(9 left"),
    ],
)  # fmt: skip
def test_what_ours_cannot_be(name: str, values: dict[str, Any], problem: str, tmp_path: Path) -> None:
    change(stored(tmp_path, name) / "config.json", **values)
    with pytest.raises(ConfigError, match=problem) as error:
        hub.read(tmp_path)
    assert str(tmp_path) in str(error.value)


def test_a_tie_that_is_none(tmp_path: Path) -> None:
    change(stored(tmp_path, "llama") / "config.json", tie_word_embeddings=True)
    with pytest.raises(ConfigError, match="is not the embedding, and the config ties them"):
        hub.read(tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [(None, r"cannot be read \(No such file"), ("{", "is no JSON"), ("[]", "must hold names and values"),
     ("[" * 10**5, "is no JSON"), ('{"model_type": "gpt2"}', "'vocab_size' is missing")],
)  # fmt: skip
def test_a_config_that_is_none(text: str | None, problem: str, tmp_path: Path) -> None:
    (stored(tmp_path) / "config.json").unlink()
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(ConfigError, match=problem):
        hub.read(tmp_path)


def index(folder: Path, **places: str | None) -> Path:
    """A folder in many files, with some places in the table of their names changed."""
    file = stored(folder, max_shard_size="10KB") / "model.safetensors.index.json"
    values = json.loads(file.read_text())
    values["weight_map"] |= places
    file.write_text(json.dumps(values))
    return folder


@pytest.mark.parametrize(
    "place", ["../outside.safetensors", "/tmp/outside.safetensors", "..", "a/b.safetensors", "..\\x.safetensors",
              "pytorch_model.bin", ""]
)  # fmt: skip
def test_no_file_outside_of_the_folder_is_opened(place: str, tmp_path: Path) -> None:
    save_file({"transformer.wte.weight": torch.ones(29, 24)}, tmp_path / "outside.safetensors")
    folder = index(tmp_path / "in", **{"transformer.wte.weight": place})
    with pytest.raises(CheckpointError, match="no safetensors file of its folder"):
        hub.read(folder)


def test_an_index_that_does_not_fit(tmp_path: Path) -> None:
    wrong: dict[str, tuple[dict[str, str | None], str]] = {
        "without": ({"transformer.wte.weight": None}, "has no weight_map of names to files"),
        "lost": ({"more": "model-9.safetensors"}, "there is no .*model-9.safetensors"),
        "moved": ({"more": "model-00001-of-00009.safetensors"}, "does not hold what model.safetensors.index.json"),
    }  # fmt: skip
    for name, (places, problem) in wrong.items():
        folder = index(tmp_path / name, **places)
        shards = len(list(folder.glob("model-*")))
        (folder / hub.INDEX).write_text(
            (folder / hub.INDEX).read_text().replace("of-00009", f"of-{shards:05}")
        )
        with pytest.raises(CheckpointError, match=problem):
            hub.read(folder)


@pytest.mark.parametrize(
    ("file", "told"), [("pytorch_model.bin", "but pytorch_model.bin, which could run"), ("x", "")]
)
def test_pickles_are_not_read(file: str, told: str, tmp_path: Path) -> None:
    (stored(tmp_path) / "model.safetensors").rename(tmp_path / file)
    with pytest.raises(CheckpointError, match=rf"has no model.safetensors.*{told}.*: let the program"):
        hub.read(tmp_path)


def test_a_pickle_by_the_right_name(tmp_path: Path) -> None:
    torch.save(theirs("gpt2").state_dict(), stored(tmp_path) / "model.safetensors")
    with pytest.raises(CheckpointError, match="could run code"):
        hub.read(tmp_path)


class TestNames:
    def test_only_what_is_needed_is_fetched(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[tuple[str, dict[str, Any]]] = []

        def give(name: str, **settings: Any) -> str:
            asked.append((name, settings))
            return str(stored(tmp_path))

        monkeypatch.setattr("huggingface_hub.snapshot_download", give)
        assert hub.read("openai-community/gpt2").config == config_of("gpt2")
        wanted = ["config.json", "model.safetensors.index.json", "model*.safetensors"]
        assert asked == [("openai-community/gpt2", {"allow_patterns": wanted})]

    def test_without_a_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        with pytest.raises(
            CheckpointError, match=r"there is no folder a/b, nor .*: download .* give its path"
        ):
            hub.read("a/b")

    def test_without_the_client(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        with pytest.raises(CheckpointError, match="pip install huggingface_hub, or download"):
            hub.read("a/b")

    @pytest.mark.parametrize("name", ["./typo", "/no/such/folder", "a/b/c", "a b"])
    def test_a_path_is_not_asked_for(self, name: str) -> None:
        """The client itself knows that these are no names."""
        with pytest.raises(CheckpointError, match="there is no folder"):
            hub.read(name)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"position": "alibi"}, "position = 'alibi' cannot be exported: a gpt2 of the hub has 'learned'"),
        ({"head_bias": True}, "head_bias = True cannot be exported"),
        ({"norm": {"placement": "post"}}, "norm.placement = 'post' cannot be exported"),
        ({"norm": {"kind": "rmsnorm"}}, "norm.kind = 'rmsnorm' cannot be exported"),
        ({"norm": {"bias": False}}, "norm.bias = False cannot be exported"),
        ({"attention": {"kind": "separate"}}, "attention.kind = 'separate' cannot be exported"),
        ({"attention": {"n_kv_heads": 1}}, "attention.n_kv_heads = 1 cannot be exported"),
        ({"feedforward": {"kind": "swiglu", "width": 8}}, "activation_function = None is not supported"),
        (
            {"position": "rope"},
            "feedforward.kind = 'gelu' cannot be exported: a llama of the hub has 'swiglu'",
        ),
    ],
)
def test_what_theirs_cannot_be(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=problem):
        hub.write(
            tiny_model(**(changes | ({"d_model": 24} if "position" in changes else {}))), tmp_path / "new"
        )
    assert list(tmp_path.iterdir()) == []


def test_training_alone_does_not_hinder(tmp_path: Path) -> None:
    """Inits and dropout do not change what a trained model is."""
    model = tiny_model(init="xavier", attention={"dropout": 0.3}, feedforward={"dropout": 0.2})
    hub.write(model, tmp_path)
    back = hub.read(tmp_path)
    assert same(back.state_dict(), model.state_dict())
    assert (back.config.attention.dropout, back.config.feedforward.dropout) == (0.3, 0.2)


def test_a_folder_with_contents_is_kept(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("mine")
    with pytest.raises(CheckpointError, match="has contents already: choose a new folder"):
        hub.write(tiny_model(), tmp_path)
    with pytest.raises(CheckpointError, match="has contents already"):
        hub.write(tiny_model(), tmp_path / "config.json")
    assert (tmp_path / "config.json").read_text() == "mine"


def test_the_config_is_strict_json(tmp_path: Path) -> None:
    hub.write(Transformer(config_of("gpt2")), tmp_path)
    kept = json.loads((tmp_path / "config.json").read_text())
    assert kept["architectures"] == ["GPT2LMHeadModel"]
    assert kept["n_embd"] == GPT2["d_model"]
    assert kept["n_inner"] == 4 * GPT2["d_model"]
    assert kept["torch_dtype"] == "float32"
