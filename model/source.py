"""Where batches come from: a table of sources, each chosen by name and checked data."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from torch import Generator, Tensor

from blockproof.model.corpus import TextData, TextSource
from blockproof.model.labels import Batch
from blockproof.model.markov import MarkovData, MarkovSource
from blockproof.model.recall import CopyData, CopySource, OffsetData, OffsetSource
from blockproof.model.schema import Config, ConfigError, hint
from blockproof.model.synthetic import OrderData, OrderSource


class Source(Protocol):
    """What training needs of its data."""

    vocab_size: int
    alphabet: str | None  # of a text: character i is token i

    @property
    def floor(self) -> float | None:
        """The lowest loss any model can reach, in nats, where it is known."""

    @property
    def floors(self) -> Tensor | None:
        """The same at each place of a window (T,), where it is known."""

    def batch(self, size: int, generator: Generator) -> Batch:
        """``size`` training windows as inputs and targets, each (size, T)."""

    def validation(self) -> Batch:
        """Every validation window, in a fixed order."""

    @property
    def blind_loss(self) -> float:
        """The loss of the best model that sees no context (order: no order), in nats."""


class Kind(NamedTuple):
    """A source with the configuration that it takes."""

    data: type[Config]
    source: Any


SOURCES: dict[str, Kind] = {
    "text": Kind(TextData, TextSource),
    "order": Kind(OrderData, OrderSource),
    "markov": Kind(MarkovData, MarkovSource),
    "copy": Kind(CopyData, CopySource),
    "offset": Kind(OffsetData, OffsetSource),
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
