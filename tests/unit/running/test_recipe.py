"""Recipes: complete, checked, and an error that names the nearest right key."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from blockproof.model import recipe
from blockproof.model.count import count
from blockproof.model.recipe import Recipe, find, recipes
from blockproof.model.schema import ConfigError
from blockproof.tests.unit.running.recipes import VALUES, small


@pytest.mark.parametrize("name", recipes())
def test_every_recipe_is_complete(name: str) -> None:
    found = find(name)
    assert Recipe.from_dict(found.to_dict()) == found
    assert found.source().vocab_size <= found.model.vocab_size


def test_the_recipes_that_ship() -> None:
    assert recipes() == ["gpt2-124m", "shakespeare_char", "shakespeare_char_cpu", "tiny", "toy"]


def test_the_toy_is_the_one_of_the_lesson() -> None:
    model, train = find("toy").model, find("toy").train
    assert (model.n_layers, model.attention.n_heads, model.d_model, model.context) == (6, 4, 32, 8)
    assert (model.attention.kind, model.feedforward.kind) == ("separate", "relu")
    assert {model.attention.dropout, model.attention.output_dropout, model.feedforward.dropout} == {0.2}
    assert (train.batch_size, train.lr, train.steps) == (32, 1e-3, 5000)


def test_nanogpts_configuration_for_a_processor_has_its_size() -> None:
    """With the 65 symbols of the text that it is for: 804,096 parameters."""
    assert count(find("shakespeare_char_cpu", {"model.vocab_size": 65, **any_text()}).model).total == 804_096


def any_text() -> dict[str, Any]:
    """Data that need no text."""
    return {"data.source": "text", "data.sha256": "0" * 64}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"train.lrr": 1e-3}, "did you mean 'train.lr'"),
        ({"lr": 1e-3}, "did you mean 'train.lr'"),
        ({"model.attention.n_head": 2}, "did you mean 'model.attention.n_heads'"),
        ({"trian.steps": 3}, "did you mean 'train.steps'"),
        ({"data.symbol": 3}, "did you mean 'symbols'"),
        ({"train.lr": -1e-3}, "TrainConfig.lr must be at least 0"),
        ({"train.lr": float("nan")}, "TrainConfig.lr must be finite"),
        ({"train.steps": 0}, "TrainConfig.steps must be at least 1"),
        ({"model.context": 0}, "ModelConfig.context must be at least 1"),
        ({"model.attention.n_heads": 3}, "d_model 8 cannot be divided among n_heads 3"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"seed": 1.5}, "seed must be an integer of at least 0"),
    ],
)
def test_a_wrong_setting_is_named(changes: dict[str, Any], expected: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(VALUES))
    with pytest.raises(ConfigError, match=re.escape(expected)):
        find(str(file), changes)


def test_settings_arrive(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(VALUES))
    changed = find(str(file), {"train.lr": "1e-3", "model.norm.kind": "rmsnorm", "seed": 9})
    assert (changed.train.lr, changed.model.norm.kind, changed.seed) == (1e-3, "rmsnorm", 9)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({**VALUES, "trian": {}}, "a recipe has no section 'trian'; did you mean 'train'"),
        ({"model": "tiny"}, "a recipe needs a section 'train'"),
        ({**VALUES, "model": "tinny"}, "did you mean 'tiny'"),
    ],
)
def test_a_wrong_section_is_named(values: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(expected)):
        Recipe.from_dict(values)


def test_a_model_alone_is_no_recipe() -> None:
    with pytest.raises(ConfigError, match="a model alone, which says nothing of training"):
        find("llama-7b")


def test_the_vocabulary_is_that_of_the_data() -> None:
    assert small().model.vocab_size == small().source().vocab_size


def test_data_that_do_not_fit_into_the_vocabulary_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"set model.vocab_size=\d+"):
        small(model__vocab_size=3).source()


def test_no_file_and_no_mapping(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        recipe.read(str(tmp_path / "none.yaml"))
    (tmp_path / "list.yaml").write_text("- a\n")
    with pytest.raises(ConfigError, match="needs a mapping"):
        recipe.read(str(tmp_path / "list.yaml"))
