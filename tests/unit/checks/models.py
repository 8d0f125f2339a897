"""Right models in the styles that people write them in, small; each test plants its faults in them.

Sizes: vocabulary V = 11, context T = 7, width D = 12 in 2 heads, 2 layers.
"""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model.nested import with_values
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import D, T, V, tiny_config
from blockproof.tests.seam.subject import Subject, subject
from blockproof.tests.subjects import CONFIGS, factory

HEADS, DROPOUT = 2, 0.1


class Attention(nn.Module):
    """nanoGPT's, with the fused kernel: x (B, T, D) -> (B, T, D)."""

    def __init__(self) -> None:
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.dropout = DROPOUT

    def heads(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values (B, H, T, d)."""
        return tuple(part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.c_attn(x).split(D, -1))

    def rate(self) -> float:
        """Of dropout, now."""
        return self.dropout if self.training else 0.0

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.heads(x)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.rate(), is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Pre-norm: x (B, T, D) -> (B, T, D)."""

    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(D), Attention(), nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D), nn.Dropout(DROPOUT))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class NanoGPT(nn.Module):
    """Gives logits of the last place alone, unless it is given targets; its head is tied."""

    block_size, vocab_size = T, V

    def __init__(self) -> None:
        super().__init__()
        self.wte, self.wpe, self.drop = nn.Embedding(V, D), nn.Embedding(T, D), nn.Dropout(DROPOUT)
        self.h, self.ln_f = nn.ModuleList(Block() for _ in range(2)), nn.LayerNorm(D)
        self.lm_head = nn.Linear(D, V, bias=False)
        self.wte.weight = self.lm_head.weight
        for parameter in self.parameters():
            if parameter.ndim == 2:
                nn.init.normal_(parameter, std=0.02)

    def features(self, idx: Tensor) -> Tensor:
        """What the head reads: (B, T, D)."""
        x = self.drop(self.wte(idx) + self.wpe(torch.arange(idx.shape[1])))
        for block in self.h:
            x = block(x)
        return self.ln_f(x)

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        x = self.features(idx)
        if targets is None:
            return self.lm_head(x[:, [-1]]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)

    @torch.no_grad()
    def generate(self, idx: Tensor, max_new_tokens: int, temperature: float = 1.0) -> Tensor:
        """Sample tokens; ids (B, T) -> (B, T + new)."""
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -T:])
            probabilities = (logits[:, -1] / temperature).softmax(dim=-1)
            idx = torch.cat([idx, torch.multinomial(probabilities, 1)], dim=1)
        return idx


class LectureHead(nn.Module):
    """One head, by its formula."""

    def __init__(self) -> None:
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(D, D // HEADS, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(T, T)))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor) -> Tensor:
        length, key = x.shape[1], self.key(x)
        scores = self.query(x) @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
        scores = scores.masked_fill(self.get_buffer("tril")[:length, :length] == 0, -torch.inf)
        return self.dropout(scores.softmax(dim=-1)) @ self.value(x)


class Lecture(nn.Module):
    """Flattens its logits when it is given targets; a head of its own, torch's initialisation."""

    block_size = T

    def __init__(self) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(V, D), nn.Embedding(T, D)
        self.heads = nn.ModuleList(LectureHead() for _ in range(HEADS))
        self.feed = nn.Sequential(nn.Linear(D, 4 * D), nn.ReLU(), nn.Linear(4 * D, D), nn.Dropout(DROPOUT))
        self.ln1, self.ln2, self.ln_f, self.lm_head = *(nn.LayerNorm(D) for _ in range(3)), nn.Linear(D, V)

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        x = self.token(idx) + self.position(torch.arange(idx.shape[1]))
        x = x + torch.cat([head(self.ln1(x)) for head in self.heads], dim=-1)
        logits = self.lm_head(self.ln_f(x + self.feed(self.ln2(x))))
        if targets is None:
            return logits, None
        logits = logits.flatten(0, 1)
        return logits, F.cross_entropy(logits, targets.flatten())


class Encoder(nn.Module):
    """A decoder made of torch's encoder: post-norm, sinusoids in a buffer, a head of its own."""

    context = T

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(V, D), nn.Linear(D, V)
        layer = nn.TransformerEncoderLayer(D, HEADS, 4 * D, dropout=DROPOUT, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        angles = torch.arange(T)[:, None] / 10000 ** (torch.arange(D // 2) / (D // 2))
        self.register_buffer("pos_table", torch.cat([angles.sin(), angles.cos()], dim=-1))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids) + self.get_buffer("pos_table")[: ids.shape[1]]
        mask = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(diagonal=1)
        return self.head(self.layers(x, mask=mask, is_causal=True))


class Cached(nn.Module):
    """Called as Hugging Face's models are: mask, positions, labels, and a cache of keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(vocab_size=V, max_position_embeddings=T)
        self.wte, self.wpe, self.drop = nn.Embedding(V, D), nn.Embedding(T, D), nn.Dropout(DROPOUT)
        self.h, self.ln_f = nn.ModuleList(Block() for _ in range(2)), nn.LayerNorm(D)
        self.lm_head = nn.Linear(D, V, bias=False)

    def start(self, past: Any) -> int:
        """The place of the first new token."""
        return past[0][0].shape[2] if past else 0

    def attend(self, block: Any, x: Tensor, keep: Tensor, past: Any) -> tuple[Tensor, Any]:
        """One block; ``keep`` (B, 1, new, all) says who may look where."""
        q, k, v = block.attn.heads(block.ln_1(x))
        if past:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, keep, dropout_p=block.attn.rate())
        x = x + block.attn.c_proj(y.transpose(1, 2).flatten(2))
        return x + block.mlp(block.ln_2(x)), (k, v)

    def keep(self, rows: int, begin: int, end: int, mask: Tensor | None) -> Tensor:
        """(B, 1, new, all): the past that is no padding, and always the token itself."""
        places = torch.arange(end)
        causal = (places <= places[begin:, None])[None].expand(rows, -1, -1)
        if mask is not None:
            causal = causal & (mask[:, None, :] == 1) | (places == places[begin:, None])
        return causal[:, None]

    def forward(  # noqa: PLR0913, PLR0917 (as Hugging Face has it)
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Any = None,
        use_cache: bool = False,
        labels: Tensor | None = None,
    ) -> Any:
        rows, new = input_ids.shape
        begin, past = self.start(past_key_values), past_key_values or [None, None]
        places = torch.arange(begin, begin + new) if position_ids is None else position_ids
        x = self.drop(self.wte(input_ids) + self.wpe(places))
        end = new + (past[0][0].shape[2] if past[0] else 0)
        keep, kept = self.keep(rows, end - new, end, attention_mask), []
        for block, before in zip(self.h, past, strict=True):
            x, both = self.attend(block, x, keep, before)
            kept.append(both)
        logits, loss = self.lm_head(self.ln_f(x)), None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return SimpleNamespace(logits=logits, loss=loss, past_key_values=kept if use_cache else None)


class Small(nn.Module):
    """Ours, of the sizes above, with any field of its config replaced."""

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        self.config = tiny_config(**with_values({}, changes))
        self.net = Transformer(self.config)

    def forward(self, ids: Tensor) -> Tensor:
        return self.net(ids)


RIGHT: dict[str, Callable[[], nn.Module]] = {
    **{f"ours, {name}": factory(name) for name in CONFIGS},
    "ours, one layer without positions": lambda: Small(**{"n_layers": 1, "position": "none"}),
    "ours, no attention": lambda: Small(**{"attention.kind": "none"}),
    "ours, queries and keys 0": lambda: Small(**{"init": "xiong", "attention.kind": "separate"}),
    "nanoGPT": NanoGPT,
    "lecture": Lecture,
    "torch's encoder": Encoder,
    "with a cache": Cached,
}


def of(build: Callable[[], nn.Module], **known: Any) -> Subject:
    """The model that is built, as the checks take it."""
    return subject("a model", build, **known)
