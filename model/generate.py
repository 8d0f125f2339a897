"""Text from a model: prompts continued token by token, side by side, each as if it were alone.

    prompts → [logits of the last token (B, V) → a token for each row] × until every row has ended → texts

Rows of unequal length need no padding. All begin at place 0 with as many tokens as the shortest prompt
has, and where a prompt still runs, its own token is taken instead of a drawn one.
"""

import hashlib
from collections.abc import Sequence
from operator import index

import torch
from torch import Generator, Tensor

from blockproof.model.cache import Cache
from blockproof.model.evaluate import evaluating
from blockproof.model.sampling import GREEDY, Sampling, choose
from blockproof.model.transformer import InputError, Transformer, check_ids


@torch.no_grad()
def generate(  # noqa: PLR0913 (all but three by name)
    model: Transformer,
    prompts: Sequence[Sequence[int]],
    n_tokens: int,
    *,
    settings: Sampling = GREEDY,
    stop: int | None = None,
    seed: int = 0,
    use_cache: bool = True,
) -> list[list[int]]:
    """Continue each prompt by ``n_tokens`` tokens, or up to the first ``stop`` that it draws.

    Beyond its context, the model sees the last ``context`` tokens, with places counted from 0. The model
    is in eval mode meanwhile; its modes come back, and torch's random state is not touched.

    Args:
        model: any model with a config, called as ``Transformer`` is.
        prompts: token ids, at least one and at most ``context`` in each row.
        n_tokens: to add to each row, 0 or more.
        settings: how a token is chosen.
        stop: the token that ends a row; it is the row's last. In a prompt it is a token like any other.
        seed: with the number of its row it decides what a row draws, whatever the other rows are.
        use_cache: whether keys and values are kept; without, every step is a forward of the whole text.

    Returns:
        Each prompt with what follows it.

    Raises:
        InputError: for prompts that are empty, too long, or not token ids, for a ``stop`` that is none,
            or a negative ``n_tokens``.
    """
    if n_tokens < 0:
        raise InputError(f"n_tokens must be 0 or more, got {n_tokens}")
    if stop is not None:
        check_ids(torch.tensor([[stop]]), model.config)
    rows = [
        Row(checked(prompt, number, model), n_tokens, stop, generator_of(seed, number))
        for number, prompt in enumerate(prompts)
    ]
    device = next(model.parameters()).device
    ids = torch.tensor([row.text[: min(len(row.text) for row in rows)] for row in rows], device=device)
    cache = Cache(model.config) if use_cache else None
    with evaluating(model):
        while not all(row.ended for row in rows):
            logits = last_logits(model, ids, cache)
            column = [row.token(ids.shape[1], each, settings) for row, each in zip(rows, logits, strict=True)]
            ids = torch.cat([ids, torch.tensor(column, device=device)[:, None]], dim=1)
    return [row.text for row in rows]


def last_logits(model: Transformer, ids: Tensor, cache: Cache | None) -> Tensor:
    """Logits (B, V) of the token after ids (B, T), T of any size; the cache takes in what it lacks of them."""
    context = model.config.context
    if cache is None or ids.shape[1] > context:  # from here on every token has another place at every step
        return model(ids[:, -context:])[:, -1]
    return model(ids[:, cache.length :], cache)[:, -1]


class Row:
    """One prompt and what becomes of it."""

    def __init__(self, prompt: list[int], n_tokens: int, stop: int | None, generator: Generator) -> None:
        self.text, self.longest = prompt, len(prompt) + n_tokens
        self.stop, self.generator = stop, generator
        self.ended = n_tokens == 0

    def token(self, place: int, logits: Tensor, settings: Sampling) -> int:
        """The token at a place: the prompt's own as long as it runs, then one chosen from logits (V,).

        A row that has ended gives any token: it still stands beside the others, and nobody reads it.
        """
        if place < len(self.text):
            return self.text[place]
        if self.ended:
            return self.text[-1]
        chosen = choose(logits, settings, self.generator)
        self.text.append(chosen)
        self.ended = chosen == self.stop or len(self.text) >= self.longest
        return chosen


def checked(prompt: Sequence[int], number: int, model: Transformer) -> list[int]:
    """A copy of row ``number``'s prompt, if the model can take it."""
    try:
        ids = [index(token) for token in prompt]
    except TypeError as error:
        raise InputError(f"prompt {number} must be a sequence of integer token ids: {error}") from error
    if not ids:
        raise InputError(f"prompt {number} is empty: begin it with a token, such as that of a line break")
    try:
        check_ids(torch.tensor([ids]), model.config)
    except InputError as error:
        raise InputError(f"prompt {number}: {error}") from error
    return ids


def generator_of(seed: int, number: int) -> Generator:
    """The stream that a row draws from."""
    digest = hashlib.sha256(f"{seed}/{number}".encode()).digest()
    return Generator().manual_seed(int.from_bytes(digest[:7]))
