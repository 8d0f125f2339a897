"""Models and losses with one known fault each: a check that does not catch them proves nothing."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Bigram(nn.Module):
    """Blind to the past: predicts from the last token alone."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.logits = nn.Embedding(vocab_size, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, T) -> logits (B, T, V)."""
        logits: Tensor = self.logits(ids)
        return logits


class BagOfPrefix(nn.Module):
    """Blind to order: predicts from the last token and the mean of the vectors so far."""

    def __init__(self, vocab_size: int, d_model: int = 32) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.up, self.down = nn.Linear(2 * d_model, 4 * d_model), nn.Linear(4 * d_model, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, T) -> logits (B, T, V)."""
        x = self.token(ids)
        mean = x.cumsum(dim=1) / torch.arange(1, ids.shape[1] + 1)[:, None]
        logits: Tensor = self.down(F.gelu(self.up(torch.cat([x, mean], dim=-1))))
        return logits


class Unmasked(nn.Module):
    """No causal mask: every place attends to all places."""

    def __init__(self, vocab_size: int, context: int, d_model: int = 32) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(vocab_size, d_model), nn.Embedding(context, d_model)
        self.block = nn.TransformerEncoderLayer(d_model, 4, 4 * d_model, dropout=0.0, batch_first=True)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, T) -> logits (B, T, V)."""
        x = self.token(ids) + self.position(torch.arange(ids.shape[1]))
        logits: Tensor = self.head(self.block(x))
        return logits


class Peek(nn.Module):
    """A sound model whose output at t is also told the token at t + 1, as with a mask off by one."""

    def __init__(self, model: nn.Module, vocab_size: int) -> None:
        super().__init__()
        self.model, self.hint = model, nn.Embedding(vocab_size, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, T) -> logits (B, T, V)."""
        hints = F.pad(self.hint(ids)[:, 1:], (0, 0, 0, 1))  # the last place has no next token
        logits: Tensor = self.model(ids) + hints
        return logits


class Mixed(nn.Module):
    """A sound model whose sequences see each other: the batch is averaged into each of them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, T) -> logits (B, T, V)."""
        logits: Tensor = self.model(ids)
        return logits + logits.mean(dim=0)


def unshifted_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """Asks for the token that was just put in."""
    return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, :-1].flatten())


def double_shift_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """Shifts labels that the data loader has already shifted: asks for the token after the next."""
    return F.cross_entropy(model(tokens[:, :-1])[:, :-1].flatten(0, 1), tokens[:, 2:].flatten())
