"""START HERE: a decoder-only transformer language model, from the outside in.

Shapes: B batch, T tokens, D ``d_model``, H ``n_heads``, V ``vocab_size``.

    ids (B, T) → token + position (B, T, D) → [attention, feed-forward] × n_layers → norm → logits (B, T, V)
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model.attention import ATTENTIONS
from blockproof.model.cache import Cache, Past
from blockproof.model.config import ModelConfig
from blockproof.model.feedforward import FEEDFORWARDS
from blockproof.model.init import draw_seed, initialise
from blockproof.model.norm import NORMS
from blockproof.model.position import POSITIONS, Position
from blockproof.model.residual import PLACEMENTS


class Transformer(nn.Module):
    """Token ids to next-token logits; ``logits[:, t]`` scores the token at t + 1 (see ``labels``).

    A tied head has no matrix of its own: it is the token embedding, transposed (Press and Wolf 2017).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        seed = draw_seed()
        self.config = config
        self.token = nn.Embedding(config.vocab_size, config.d_model)
        self.position = POSITIONS[config.position](config)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = NORMS[config.norm.kind](config) if config.norm.final else nn.Identity()
        self.head = None if config.tied else nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.head_bias = nn.Parameter(torch.zeros(config.vocab_size)) if config.head_bias else None
        initialise(self, config, seed)

    def forward(self, ids: Tensor, cache: Cache | None = None) -> Tensor:
        """Integer ids (B, T), T ≤ context -> logits (B, T, V).

        With a cache, the ids follow the tokens that it has consumed, and it takes them in as well.

        Raises:
            InputError: for ids that are not integers, empty, too long or outside the vocabulary.
        """
        start = 0 if cache is None else cache.length
        check_ids(ids, self.config, start)
        places = start + torch.arange(ids.shape[1], device=ids.device)
        x = self.dropout(self.position(self.token(ids), places))  # (B, T, D)
        pasts = [None] * len(self.blocks) if cache is None else cache.layers
        for block, past in zip(self.blocks, pasts, strict=True):
            x = block(x, self.position, past)
        if cache is not None:
            cache.length += ids.shape[1]
        matrix = self.token.weight if self.head is None else self.head.weight  # (V, D)
        return F.linear(self.norm(x), matrix, self.head_bias)  # (B, T, V)


class Block(nn.Module):
    """Attention, which moves information between positions, then a feed-forward, which does not.

    Either may be left out, with its norm and its residual.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        place = PLACEMENTS[config.norm.placement]
        attention, feedforward = ATTENTIONS[config.attention.kind], FEEDFORWARDS[config.feedforward.kind]
        self.attention = place(config, attention(config)) if attention else None
        self.feedforward = place(config, feedforward(config)) if feedforward else None

    def forward(self, x: Tensor, position: Position, past: Past | None = None) -> Tensor:
        if self.attention is not None:
            x = self.attention(x, position, past)
        if self.feedforward is not None:
            x = self.feedforward(x)
        return x


class InputError(ValueError):
    """Ids that the model cannot take; the message names the problem and the remedy."""


def check_ids(ids: Tensor, config: ModelConfig, start: int = 0) -> None:
    """Refuse what an embedding would answer with an obscure error, or not at all.

    Before the ids (B, T) came ``start`` others, now in a cache.
    """
    if ids.dtype not in (torch.int64, torch.int32):
        raise InputError(f"token ids must be int64 or int32, got {ids.dtype}: pass ids.long()")
    if ids.ndim != 2 or 0 in ids.shape:
        raise InputError(f"token ids must have shape (B, T) with B, T >= 1, got {tuple(ids.shape)}")
    if (end := start + ids.shape[1]) > config.context:
        cached, anew = (f", {start} of them in the cache", " with an empty cache") if start else ("", "")
        raise InputError(
            f"the sequence has {end} tokens{cached}, the context holds {config.context}: "
            f"crop it to ids[:, -{config.context}:]{anew} or build the model with a longer context"
        )
    if not ids.is_meta and (ids.min() < 0 or ids.max() >= config.vocab_size):
        wrong = ids[(ids < 0) | (ids >= config.vocab_size)][0].item()
        raise InputError(
            f"token id {wrong} is outside the vocabulary 0 … {config.vocab_size - 1}: "
            f"check the tokenizer, or vocab_size"
        )
