"""Configurations refuse what they cannot mean, and say what to do."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from blockproof.model.schema import Config, ConfigError, choice, hint, number


@dataclass(frozen=True, kw_only=True)
class Oven(Config):
    """Some fields of each kind."""

    plates: int = number(low=1)
    heat: float = number(0.5, low=0.0, below=1.0)
    fan: bool = True
    mode: str = choice({"grill": 1, "bake": 2}, "bake")

    def validate(self) -> None:
        """A combination that makes no sense."""
        if self.plates > 4 and not self.fan:
            raise ConfigError("5 plates need a fan")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "needs a value for 'plates'"),
    ({"plates": 1, "haet": 0.1}, "no field 'haet'; did you mean 'heat'.*Known: plates, heat, fan, mode"),
    ({"plates": True}, r"Oven\.plates must be of type int, got True \(bool\)"),
    ({"plates": 1.0}, r"must be of type int, got 1.0 \(float\)"),
    ({"plates": "1"}, r"must be of type int, got '1' \(str\)"),
    ({"plates": None}, "must be of type int, got None"),
    ({"plates": 0}, "Oven.plates must be at least 1, got 0"),
    ({"plates": 1, "heat": True}, r"Oven\.heat must be of type float, got True"),
    ({"plates": 1, "heat": "hot"}, "Oven.heat must be a number, got 'hot'"),
    ({"plates": 1, "heat": float("nan")}, "heat must be finite, got nan"),
    ({"plates": 1, "heat": float("-inf")}, "heat must be finite, got -inf"),
    ({"plates": 1, "heat": "inf"}, "heat must be finite, got inf"),
    ({"plates": 1, "heat": 10**400}, "Oven.heat must be a number"),
    ({"plates": 1, "heat": -0.1}, "heat must be at least 0.0, got -0.1"),
    ({"plates": 1, "heat": 1}, "heat must be below 1.0, got 1.0"),
    ({"plates": 1, "fan": 1}, r"Oven\.fan must be of type bool, got 1 \(int\)"),
    ({"plates": 1, "mode": "gril"}, "mode has no variant 'gril'; did you mean 'grill'.*Known: grill, bake"),
    ({"plates": 1, "mode": ["bake"]}, "mode must be of type str"),
    ({"plates": 5, "fan": False}, "5 plates need a fan"),
]


@pytest.mark.parametrize(("values", "message"), WRONG)
def test_refuses(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Oven.from_dict(values)


def test_refuses_a_key_that_is_no_name(tmp_path: Path) -> None:
    (tmp_path / "oven.yaml").write_text("plates: 1\n7: 0.1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no field 7; Known"):
        Oven.from_yaml(tmp_path / "oven.yaml")


@pytest.mark.parametrize("values", [None, 3, ["plates"], "plates"])
def test_needs_a_mapping(values: Any) -> None:
    with pytest.raises(ConfigError, match="Oven needs a mapping"):
        Oven.from_dict(values)


@pytest.mark.parametrize("heat", [0, "0", 0.0, "0e-3"])
def test_takes_numbers_for_floats(heat: Any) -> None:
    oven = Oven(plates=1, heat=heat)
    assert oven.heat == 0.0
    assert type(oven.heat) is float


def test_takes_exponents_without_a_dot(tmp_path: Path) -> None:
    """YAML 1.1 reads 1e-3 as a string."""
    path = tmp_path / "oven.yaml"
    path.write_text("plates: 2\nheat: 1e-3\n", encoding="utf-8")
    assert Oven.from_yaml(path) == Oven(plates=2, heat=0.001)


def test_yaml_round_trip(tmp_path: Path) -> None:
    oven, path = Oven(plates=3, heat=0.123456789012345678, fan=False, mode="grill"), tmp_path / "oven.yaml"
    oven.to_yaml(path)
    assert Oven.from_yaml(path) == oven
    assert Oven.from_dict(oven.to_dict()) == oven
    assert list(oven.to_dict()) == ["plates", "heat", "fan", "mode"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "needs a mapping"),
        (b"- plates", "needs a mapping"),
        (b"plates: [", "cannot be read as YAML"),
        (b"\xff\xfe\xfa", "cannot be read as YAML"),
        (b"plates: 0", "plates must be at least 1"),
        (b"palates: 1", "did you mean 'plates'"),
        (None, "cannot be read as YAML.*No such file"),
    ],
)
def test_errors_name_the_file(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "oven.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        Oven.from_yaml(path)
    assert "oven.yaml" in str(caught.value)


def test_is_frozen_and_takes_keywords_only() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Oven(plates=1).plates = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        Oven(1)  # type: ignore[call-arg]


def test_hint_without_a_near_name() -> None:
    assert hint("zzz", ["grill", "bake"]) == "; Known: grill, bake"
