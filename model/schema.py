"""Frozen configurations that check themselves, from keywords, a mapping or YAML, and back."""

import dataclasses
import difflib
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, Self, get_args, get_type_hints

import yaml


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the field and the remedy."""


def number(
    default: Any = dataclasses.MISSING, *, low: float | None = None, below: float | None = None
) -> Any:
    """A numeric field with ``low <= value < below``; required when it has no default."""
    return field(default=default, metadata={"low": low, "below": below})


def choice(table: Mapping[str, object], default: str) -> Any:
    """A field whose values are the keys of a table of variants."""
    return field(default=default, metadata={"table": table})


def part(kind: "type[Config]") -> Any:
    """A field that is a config of its own, given as such or as a mapping; its defaults if left out."""
    return field(default_factory=kind)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of every configuration: types and ranges are checked at construction.

    Raises:
        ConfigError: for an unknown key, a wrong type, a value out of range, or (in a subclass's
            ``validate``) a combination that makes no sense.
    """

    def __new__(cls, **values: Any) -> Self:
        """Refuse unknown keys before the generated constructor does, in words that help."""
        cls._refuse_unknown(values)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        kinds = get_type_hints(type(self))
        for each in dataclasses.fields(self):
            name = f"{type(self).__name__}.{each.name}"
            value = _typed(name, getattr(self, each.name), kinds[each.name])
            if value is not None:
                _check_range(name, value, each.metadata)
            object.__setattr__(self, each.name, value)
        self.validate()

    def validate(self) -> None:
        """Refuse impossible combinations of fields; subclasses override it."""

    def refuse_idle(self, idle: bool, why: str, *, keep: Collection[str]) -> None:
        """Where fields are idle, refuse every value but the default of all that are not to be kept.

        A setting that changes nothing would make a sweep over it look like a result.
        """
        for each in dataclasses.fields(self) if idle else ():
            if each.name not in keep and (value := getattr(self, each.name)) != each.default:
                name = f"{type(self).__name__}.{each.name}"
                raise ConfigError(f"{name} = {value!r} would change nothing, because {why}: leave it out")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from a mapping that has every required key and no unknown one."""
        if not isinstance(values, Mapping):
            raise ConfigError(f"{cls.__name__} needs a mapping of field names to values, got {values!r}")
        cls._refuse_unknown(values)
        for each in dataclasses.fields(cls):
            required = each.default is each.default_factory is dataclasses.MISSING
            if required and each.name not in values:
                raise ConfigError(f"{cls.__name__} needs a value for {each.name!r}, and none is given")
        return cls(**values)

    @classmethod
    def _refuse_unknown(cls, keys: Iterable[object]) -> None:
        known = [each.name for each in dataclasses.fields(cls)]
        for key in keys:
            if key not in known:
                raise ConfigError(f"{cls.__name__} has no field {key!r}{hint(key, known)}")

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Read a YAML file of ``field: value`` lines, a part's fields below its name."""
        values = read_yaml(Path(path))
        try:
            return cls.from_dict(values)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Every field with its value, as plain data; parts as mappings."""
        return dataclasses.asdict(self)

    def to_yaml(self, path: str | Path) -> None:
        """Write the file that ``from_yaml`` reads."""
        Path(path).write_text(yaml.safe_dump(self.to_dict(), sort_keys=False), encoding="utf-8")


class _Loader(yaml.SafeLoader):
    """Plain data only, and no key twice: YAML itself would take the last one in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} occurs twice", node.start_mark
                )
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds.

    Raises:
        ConfigError: if it cannot be read, is no YAML, or holds something else.
    """
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read as YAML: {error}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{path} needs a mapping of names to values, got {values!r}")
    return values


def hint(word: object, known: Iterable[str]) -> str:
    """The tail of an error about an unknown name: the nearest known one, then all of them."""
    names = list(known)
    near = difflib.get_close_matches(str(word), names, n=1)
    return (f"; did you mean {near[0]!r}?" if near else ";") + f" Known: {', '.join(names)}"


def _typed(name: str, value: Any, hinted: Any) -> Any:
    """``value`` as it was hinted: exact types, but an integer may stand for a float, a mapping for a part.

    YAML 1.1 reads ``1e-3`` (no dot) as a string, so a float field also takes such a string.
    """
    kinds = get_args(hinted) or (hinted,)  # of ``int | None``, both
    kind = kinds[0]
    if value is None and NoneType in kinds:
        return None
    if issubclass(kind, Config) and isinstance(value, Mapping):
        return kind.from_dict(value)
    if kind is float and type(value) in (int, str):
        try:
            value = float(value)
        except (ValueError, OverflowError):
            raise ConfigError(f"{name} must be a number, got {value!r}") from None
    if type(value) is not kind:
        raise ConfigError(f"{name} must be of type {kind.__name__}, got {value!r} ({type(value).__name__})")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{name} must be finite, got {value!r}")
    return value


def _check_range(name: str, value: Any, allowed: Mapping[str, Any]) -> None:
    if (table := allowed.get("table")) is not None and value not in table:
        raise ConfigError(f"{name} has no variant {value!r}{hint(value, table)}")
    if (low := allowed.get("low")) is not None and value < low:
        raise ConfigError(f"{name} must be at least {low}, got {value!r}")
    if (below := allowed.get("below")) is not None and value >= below:
        raise ConfigError(f"{name} must be below {below}, got {value!r}")
