"""A training run as data: which model, trained how, on what, from which seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Self

from blockproof.model import source as sources
from blockproof.model.config import ModelConfig, preset, presets
from blockproof.model.corpus import load_corpus
from blockproof.model.nested import leaves, with_values
from blockproof.model.schema import ConfigError, hint, read_yaml
from blockproof.model.source import Source
from blockproof.model.train_config import TrainConfig

SECTIONS = ("model", "train", "data", "seed")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All that determines a run, complete and checked.

    Attributes:
        model: its vocabulary is that of the data, where none is given.
        train: how it is trained.
        data: ``source`` and its fields; a text's SHA-256 is among them.
        seed: of initialisation, batches and dropout.
    """

    model: ModelConfig
    train: TrainConfig
    data: Mapping[str, Any]
    seed: int = 0

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From mappings of the sections; ``model`` may be the name of a preset.

        Raises:
            ConfigError: for a section that is unknown or missing, or anything wrong in one.
        """
        if unknown := [name for name in values if name not in SECTIONS]:
            raise ConfigError(f"a recipe has no section {unknown[0]!r}{hint(unknown[0], SECTIONS)}")
        if missing := [name for name in SECTIONS[:3] if name not in values]:
            raise ConfigError(f"a recipe needs a section {missing[0]!r}, and none is given")
        model, seed = values["model"], values.get("seed", 0)
        model = preset(model).to_dict() if isinstance(model, str) else dict(model)
        if type(seed) is not int or seed < 0:
            raise ConfigError(f"seed must be an integer of at least 0, got {seed!r}")
        data = complete_data(values["data"])
        config = ModelConfig.from_dict({"vocab_size": 1, **model})  # its other values are checked first
        if "vocab_size" not in model:
            made = sources.make_source(data, config.context)
            config = ModelConfig.from_dict({**model, "vocab_size": made.vocab_size})
        return cls(
            model=config,
            train=TrainConfig.from_dict(values["train"]),
            data=data,
            seed=seed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Every value, as plain data that ``from_dict`` reads."""
        return {
            "model": self.model.to_dict(),
            "train": self.train.to_dict(),
            "data": dict(self.data),
            "seed": self.seed,
        }

    def source(self) -> Source:
        """Its data, whose ids must fit into the vocabulary."""
        made = sources.make_source(self.data, self.model.context)
        if made.vocab_size > self.model.vocab_size:
            raise ConfigError(
                f"the data have {made.vocab_size} distinct tokens, the model's vocabulary holds "
                f"{self.model.vocab_size}: set model.vocab_size={made.vocab_size}"
            )
        return made


def find(name: str, changes: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe in a YAML file, if the name has its ending, else one that ships with the project.

    ``changes`` sets values at dotted paths, such as ``train.lr``.

    Raises:
        ConfigError: if there is none, or a path leads nowhere; the nearest right one is named.
    """
    values = read(name)
    if isinstance(values.get("model"), str):
        values["model"] = preset(values["model"]).to_dict()
    known = list(leaves(Recipe.from_dict(values).to_dict()))
    for path in changes or {}:
        if path not in known and not path.startswith("data."):  # its fields depend on the source
            near = [each for each in known if each.rpartition(".")[2] == path.rpartition(".")[2]]
            raise ConfigError(f"a recipe has nothing at {path!r}{hint(near[0] if near else path, known)}")
    return Recipe.from_dict(with_values(values, changes or {}))


def read(name: str) -> dict[str, Any]:
    """The sections of a recipe as they are written, from a file or from ``recipes/NAME.yaml``."""
    if name.endswith((".yaml", ".yml")):
        return read_yaml(Path(name))
    if name not in recipes():
        also = " (a model alone, which says nothing of training)" if name in presets() else ""
        raise ConfigError(f"there is no recipe {name!r}{also}{hint(name, recipes())}")
    with resources.as_file(_folder() / f"{name}.yaml") as path:
        return read_yaml(path)


def recipes() -> list[str]:
    """The names of all recipes that ship with the project."""
    return sorted(
        file.name.removesuffix(".yaml") for file in _folder().iterdir() if file.name.endswith(".yaml")
    )


def complete_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """A description of a source with every default spelt out; a text is named by its SHA-256."""
    if data.get("source") == "text" and "sha256" not in data:
        data = {**data, "sha256": load_corpus().sha256}
    return sources.complete(data)


def _folder() -> resources.abc.Traversable:
    return resources.files("blockproof.model") / "recipes"
