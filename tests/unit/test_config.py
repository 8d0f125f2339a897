"""The configurations of the project hold together."""

from pathlib import Path
from typing import Any

import pytest

from blockproof.model.config import ModelConfig
from blockproof.model.schema import ConfigError
from blockproof.model.train_config import TrainConfig
from blockproof.tests.helpers import dropping, merged, tiny_config, tiny_training, without_biases

WRONG_MODELS: list[tuple[dict[str, Any], str]] = [
    ({"context": 0}, "context must be at least 1, got 0"),
    ({"vocab_size": 0}, "vocab_size must be at least 1"),
    ({"n_layers": 0}, "n_layers must be at least 1"),
    ({"attention": {"n_heads": 0}}, "n_heads must be at least 1"),
    ({"attention": {"n_heads": True}}, "n_heads must be of type int"),
    ({"d_model": 13}, "d_model 13 cannot be divided among n_heads 3"),
    ({"feedforward": {"dropout": 1.0}}, "dropout must be below 1.0"),
    ({"attention": {"dropout": -0.1}}, "dropout must be at least 0.0"),
    ({"position": "learnt"}, "did you mean 'learned'"),
    ({"norm": {"placement": "past"}}, "did you mean 'post'"),
    ({"residual": {"kind": "and"}}, "did you mean 'add'"),
    ({"norm": {"kind": "layer_norm"}}, "did you mean 'layernorm'"),
    ({"feedforward": {"kind": "gelo"}}, "did you mean 'gelu'"),
    ({"init": "gtp2"}, "did you mean 'gpt2'"),
    ({"norm": {"esp": 1e-6}}, "NormConfig has no field 'esp'; did you mean 'eps'"),
    ({"norm": {"eps": -1e-6}}, "NormConfig.eps must be at least 0.0"),
    ({"feedforward": {"width": 0}}, "FeedForwardConfig.width must be at least 1"),
    ({"feedforward": {"width": 1.5}}, r"width must be of type int, got 1.5"),
    ({"norm": {"bias": 1}}, r"bias must be of type bool, got 1"),
    ({"head_bias": None}, "head_bias must be of type bool, got None"),
    (
        {"attention": {"kind": "none"}, "feedforward": {"kind": "none"}, "position": "none"},
        "is empty: keep one",
    ),
    (
        {"feedforward": {"kind": "none", "width": 20}},
        "width = 20 would change nothing, because there is no feed",
    ),
    (
        {"norm": {"placement": "deepnorm"}, "residual": {"kind": "none"}},
        "residual.kind is 'none': choose post",
    ),
    ({"residual": {"kind": "none", "dropout": 0.1}}, "dropout = 0.1 would change nothing"),
    ({"norm": {"placement": "none", "final": False, "eps": 1e-6}}, "eps = 1e-06 would change nothing"),
]

WRONG_TRAININGS: list[tuple[dict[str, Any], str]] = [
    ({"lr": float("nan")}, "lr must be finite"),
    ({"lr": "inf"}, "lr must be finite"),
    ({"lr": -1e-3}, "lr must be at least 0.0"),
    ({"steps": 0}, "steps must be at least 1"),
    ({"batch_size": 1.5}, "batch_size must be of type int"),
    ({"beta2": 1.0}, "beta2 must be below 1.0"),
    ({"warmup": 4}, "a warm-up of 4 steps leaves none of 4"),
    ({"schedule": "cosin"}, "did you mean 'cosine'"),
    ({"eval_every": 0}, "eval_every must be at least 1"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG_MODELS)
def test_model_config_refuses(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_config(**wrong)


@pytest.mark.parametrize(("wrong", "message"), WRONG_TRAININGS)
def test_train_config_refuses(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_training(**wrong)


def test_unknown_key_names_the_right_one() -> None:
    with pytest.raises(ConfigError, match="ModelConfig has no field 'n_layer'; did you mean 'n_layers'"):
        ModelConfig.from_dict(tiny_config().to_dict() | {"n_layer": 3})
    with pytest.raises(ConfigError, match="AttentionConfig has no field 'n_head'; did you mean 'n_heads'"):
        tiny_config(attention={"n_head": 3})


@pytest.mark.parametrize("wrong", [None, "rmsnorm", 3, ["kind"]])
def test_a_part_is_a_mapping(wrong: Any) -> None:
    with pytest.raises(ConfigError, match=r"ModelConfig\.norm must be of type NormConfig, got"):
        ModelConfig.from_dict(tiny_config().to_dict() | {"norm": wrong})


def test_derived_widths() -> None:
    assert (tiny_config().d_head, tiny_config().d_kv, tiny_config().d_ff) == (4, 12, 48)
    grouped = tiny_config(attention={"n_heads": 6, "n_kv_heads": 2})
    assert (grouped.d_head, grouped.d_kv) == (2, 4)


@pytest.mark.parametrize(
    "config", [tiny_config(**merged(dropping(0.1), without_biases()), init="torch"), tiny_training(lr=3e-4)]
)
def test_yaml_round_trip(config: ModelConfig | TrainConfig, tmp_path: Path) -> None:
    config.to_yaml(tmp_path / "config.yaml")
    assert type(config).from_yaml(tmp_path / "config.yaml") == config


def test_yaml_reads_a_rate_as_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("steps: 10\nbatch_size: 2\nlr: 1e-3\n", encoding="utf-8")
    assert TrainConfig.from_yaml(path).lr == 0.001
