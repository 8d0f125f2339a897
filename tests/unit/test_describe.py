"""The description of a config, and the command that prints it."""

from pathlib import Path

import pytest

from blockproof.model.__main__ import main
from blockproof.model.config import preset, presets
from blockproof.model.count import cost, count
from blockproof.model.describe import describe
from blockproof.tests.helpers import tiny_config


def words(line: str) -> list[str]:
    return line.split()


def row(text: str, name: str) -> list[str]:
    """What follows the name of a line."""
    return next(words(line[len(name) :]) for line in text.splitlines() if line.startswith(f"{name} "))


def test_gpt2_small() -> None:
    text = describe(preset("gpt2-124m"))
    assert row(text, "all") == ["124,439,808"]
    assert row(text, "token embedding") == ["38,597,376", "31.0%"]
    assert row(text, "feed-forward gelu_tanh,") == ["width", "3072"]
    assert row(text, "12 N D²")[:2] == ["84,934,656", "-0.141%"]
    assert row(text, "weights")[:2] == ["474.7", "MiB"]
    assert row(text, "forward") == ["284,812,800", "284.8", "million"]
    assert "12 heads of width 64" in text


def test_what_is_absent_is_not_described() -> None:
    text = describe(tiny_config(attention={"kind": "none"}, norm={"final": False}))
    assert "heads" not in text
    assert "before the head" not in text
    assert "residuals" not in text
    assert "width 20" in describe(tiny_config(feedforward={"kind": "swiglu", "width": 20}))
    assert ", 1 of keys and values" in describe(tiny_config(attention={"n_kv_heads": 1}))


@pytest.mark.parametrize("name", presets())
def test_command_prints_every_preset(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", name]) == 0
    printed, counted = capsys.readouterr().out, count(preset(name))
    assert f"{counted.total:,}" in printed
    assert f"{counted.blocks:,}" in printed
    assert f"{cost(counted).forward:,}" in printed


def test_command_takes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_config().to_yaml(tmp_path / "mine.yaml")
    assert main(["describe", str(tmp_path / "mine.yaml")]) == 0
    assert capsys.readouterr().out == describe(tiny_config()) + "\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("d_model: 3\n", "needs a value for 'vocab_size'"),
        ("n_layer: 1\n", "did you mean 'n_layers'"),
    ],
)
def test_command_names_what_is_wrong_in_one_line(
    content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "mine.yaml").write_text(content, encoding="utf-8")
    assert main(["describe", str(tmp_path / "mine.yaml")]) == 1
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.startswith("error: ")
    assert printed.count("\n") == 1


def test_command_names_the_nearest_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "lama-7b"]) == 1
    assert "did you mean 'llama-7b'" in capsys.readouterr().err
