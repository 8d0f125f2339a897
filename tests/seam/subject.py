"""The model under test: built anew for each check, seen as a module from ids to logits."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from blockproof.tests.checks.labels import next_token_loss
from blockproof.tests.seam.load import Factory, SeamError
from blockproof.tests.seam.protocol import INSIDE, Protocol, logits, probe, reported_loss

VOCABULARY = ("vocab_size", "n_vocab", "vocabulary_size", "num_tokens", "n_tokens")
CONTEXT = (
    "context", "n_positions", "max_position_embeddings", "n_ctx", "context_length", "context_size", "max_seq_len",
    "max_seq_length", "max_length", "max_len", "seq_len", "seq_length", "sequence_length",
    "max_target_positions",
    "block_size",  # nanoGPT's; in others, where another name tells the context, a tile of sparse attention
)  # fmt: skip
ASSUMED = 32  # tokens, where no context is told


class Judged(nn.Module):
    """A model as the checks see it: ids (B, T) -> logits (B, T, V)."""

    def __init__(self, inner: nn.Module, protocol: Protocol) -> None:
        super().__init__()
        self.inner, self.protocol = inner, protocol

    def forward(self, ids: Tensor, **extra: Any) -> Tensor:
        """Logits of every place."""
        return logits(self.inner, ids, self.protocol, **extra)

    def scored(self, tokens: Tensor) -> Tensor:
        """The logits (B, T, V) that a loss on windows (B, T + 1) is of, from the same input as the model's own."""
        return self(tokens)[:, :-1] if self.protocol.shift == INSIDE else self(tokens[:, :-1])

    def loss(self, tokens: Tensor, ignored: Tensor | None = None) -> Tensor:
        """Mean nats on windows (B, T + 1), as the model reports it; by hand if it reports none.

        Targets (B, T) that ``ignored`` marks ask for nothing.
        """
        if self.protocol.label is None:
            return next_token_loss(self, tokens)
        targets = tokens[:, 1:].clone()
        if ignored is not None:
            targets[ignored] = self.protocol.ignore
        if self.protocol.shift == INSIDE:  # the model drops the first label and the last output itself
            whole = torch.cat([tokens[:, :1], targets], dim=1)
            return reported_loss(self.inner, tokens, whole, self.protocol)
        return reported_loss(self.inner, tokens[:, :-1], targets, self.protocol)


@dataclass(frozen=True)
class Subject:
    """A model, how it is built and called, and what it can take.

    Attributes:
        name: as it was given.
        factory: makes the module; it takes no arguments.
        protocol: how the module is called.
        vocab_size: V, ids below it are valid.
        context: the longest sequence that is tried.
        ours: whether the project's own promises are asked of it too.
        remarks: what was assumed about it.
        seed: of the first of its models; others follow.
        padding: the id that stands for no token, if there is one.
    """

    name: str
    factory: Factory
    protocol: Protocol
    vocab_size: int
    context: int
    ours: bool = False
    remarks: tuple[str, ...] = ()
    seed: int = 0
    padding: int | None = None

    def build(self, seed: int = 0) -> Judged:
        """A fresh module, of the same weights every time for a seed, in eval mode."""
        torch.manual_seed(1000 * self.seed + seed)
        return Judged(made(self.factory, self.name), self.protocol).eval()

    def ids(self, batch: int, length: int) -> Tensor:
        """Random ids (B, T) of tokens: padding within a text is counted in one way here, in another there."""
        size = (batch, min(length, self.context))
        if self.padding is None:
            return torch.randint(self.vocab_size, size)
        return self.told_apart(torch.randint(self.vocab_size - 1, size))

    def told_apart(self, ids: Tensor) -> Tensor:
        """The same ids, numbered so that none is padding's."""
        return ids if self.padding is None else ids + (ids >= self.padding).long()


@dataclass(frozen=True)
class Given:
    """What the user tells of a model instead of letting it be found."""

    vocab_size: int | None = None
    context: int | None = None
    label_shift: str | None = None
    ignore_index: int | None = None


def subject(name: str, factory: Factory, *, ours: bool = False, seed: int = 0, **given: Any) -> Subject:
    """Build the model once, find out how it is called and how large it is; what is given goes first.

    ``given`` holds fields of ``Given``.

    Raises:
        SeamError: if the factory fails, gives no module, or the module gives no logits.
    """
    told = Given(**given)
    torch.manual_seed(0)
    module = made(factory, name).eval()
    remarks = []
    found = told.context or _attribute(module, CONTEXT)
    if found is not None and told.context is None:
        found -= _reserved(module, found)
    if found is None:
        found = ASSUMED
        remarks.append(f"no context is told, {ASSUMED} tokens are assumed: give --context")
    with torch.no_grad():
        ids = torch.zeros(2, min(3, found), dtype=torch.int64)
        protocol = probe(module, ids, told.label_shift, told.ignore_index)
        width = logits(module, ids, protocol).shape[-1]
    vocab_size = told.vocab_size or min(width, _attribute(module, VOCABULARY) or width)
    padding = _padding(module, vocab_size)
    return Subject(name, factory, protocol, vocab_size, found, ours, tuple(remarks), seed, padding)


def made(factory: Factory, name: str) -> nn.Module:
    """What the factory makes, if it is a module with parameters."""
    try:
        module = factory()
    except Exception as error:
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SeamError(f"the factory {name} failed: {told}") from error
    if not isinstance(module, nn.Module):
        raise SeamError(
            f"the factory {name} gave a {type(module).__name__}: it must return a torch.nn.Module"
        )
    if not any(True for _ in module.parameters()):
        raise SeamError(f"the module that {name} gave has no parameters: register its layers as attributes")
    return module


def _padding(module: nn.Module, vocab_size: int) -> int | None:
    """The id of padding: as the config tells it, or the row of a token table that is never trained."""
    told = getattr(getattr(module, "config", None), "pad_token_id", None)
    tables = [part for part in module.modules() if isinstance(part, nn.Embedding)]
    kept = [part.padding_idx for part in tables if part.num_embeddings >= vocab_size]
    found = (each for each in (told, *kept) if isinstance(each, int) and 0 <= each < vocab_size)
    return next(found, None) if vocab_size > 1 else None


def _reserved(module: nn.Module, rows: int) -> int:
    """How many rows of a table of positions no token has: fairseq's and RoBERTa's start behind the padding's."""
    return next(
        (
            part.padding_idx + 1
            for name, part in module.named_modules()
            if isinstance(part, nn.Embedding)
            and part.num_embeddings == rows
            and part.padding_idx is not None
            and "position" in name
        ),
        0,
    )


def _attribute(module: nn.Module, names: tuple[str, ...]) -> int | None:
    """The first of these attributes of the module or of its config that is a positive integer."""
    for holder in (
        module,
        getattr(module, "config", None),
        getattr(module, "cfg", None),
        getattr(module, "args", None),
    ):
        for name in names:
            value = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
