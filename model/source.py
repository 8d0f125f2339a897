"""Where batches come from: a table of sources, each chosen by name and checked data."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from torch import Generator

from blockproof.model.corpus import TextData, TextSource
from blockproof.model.labels import Batch
from blockproof.model.schema import Config, ConfigError, hint
from blockproof.model.synthetic import OrderData, OrderSource


class Source(Protocol):
    """What training needs of its data.

    Attributes:
        vocab_size: V.
        floor: the lowest loss any model can reach, in nats, where it is known.
    """

    vocab_size: int
    floor: float | None

    def batch(self, size: int, generator: Generator) -> Batch:
        """``size`` training windows as inputs and targets, each (size, T)."""

    def validation(self) -> Batch:
        """Every validation window, in a fixed order."""

    @property
    def blind_loss(self) -> float:
        """The loss of the best model that sees no context (text) or no order, in nats."""


class Kind(NamedTuple):
    """A source with the configuration that it takes."""

    data: type[Config]
    source: Any


SOURCES: dict[str, Kind] = {
    "text": Kind(TextData, TextSource),
    "order": Kind(OrderData, OrderSource),
}


def complete(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same description of a source with every default spelt out, checked."""
    kind, values = _look_up(data)
    return {"source": data["source"], **kind.data.from_dict(values).to_dict()}


def make_source(data: Mapping[str, Any], context: int) -> Source:
    """The source that ``data["source"]`` names, made from the other keys."""
    kind, values = _look_up(data)
    return kind.source(kind.data.from_dict(values), context)


def _look_up(data: Mapping[str, Any]) -> tuple[Kind, dict[str, Any]]:
    name = data.get("source")
    if not isinstance(name, str) or name not in SOURCES:
        raise ConfigError(f"there is no data source {name!r}{hint(name, SOURCES)}")
    return SOURCES[name], {key: value for key, value in data.items() if key != "source"}
