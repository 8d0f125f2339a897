"""The same small decoder behind the protocols that people use."""

from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model.config import ModelConfig
from blockproof.model.transformer import Transformer
from blockproof.tests.subjects import CONFIGS

V, CONTEXT = CONFIGS["gpt"]["vocab_size"], CONFIGS["gpt"]["context"]


class Bare(nn.Module):
    """Ids to logits, and no loss."""

    def __init__(self) -> None:
        super().__init__()
        self.config = ModelConfig.from_dict(CONFIGS["gpt"])
        self.net = Transformer(self.config)

    def forward(self, ids: Tensor) -> Any:
        """Logits (B, T, V)."""
        return self.net(ids)


class NanoStyle(Bare):
    """Logits of the last place alone unless targets are given; targets of -1 are ignored."""

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        """A tuple of logits and loss."""
        if targets is None:
            return self.net(idx)[:, [-1]], None
        logits = self.net(idx)
        # a view, as it is usually written: it takes contiguous targets alone
        return logits, F.cross_entropy(logits.view(-1, V), targets.view(-1), ignore_index=-1)


class LectureStyle(Bare):
    """Logits are flattened when targets are given."""

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        """A tuple of logits and loss."""
        logits = self.net(idx)
        if targets is None:
            return logits, None
        flat = logits.view(-1, V)
        return flat, F.cross_entropy(flat, targets.view(-1))


class HubStyle(Bare):
    """An object with ``.logits`` and ``.loss``; labels are shifted inside."""

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None
    ) -> Any:
        """As Hugging Face's models do."""
        logits = self.net(input_ids)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].reshape(-1, V), labels[:, 1:].reshape(-1))
        return SimpleNamespace(logits=logits, loss=loss)


class DictStyle(Bare):
    """The same in a dict."""

    def forward(self, ids: Tensor, labels: Tensor | None = None) -> Any:
        """Keys ``logits`` and ``loss``."""
        logits = self.net(ids)
        if labels is None:
            return {"logits": logits}
        return {
            "loss": F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()),
            "logits": logits,
        }


class EncoderDecoder(nn.Module):
    """A decoder made of torch's encoder layers and a causal mask; it tells neither vocabulary nor context."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(V, 32), nn.Embedding(64, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, V)

    def forward(self, ids: Tensor) -> Any:
        """Logits (B, T, V)."""
        T = ids.shape[1]
        future = torch.ones(T, T, dtype=torch.bool).triu(diagonal=1)
        return self.head(
            self.layers(self.token(ids) + self.place(torch.arange(T)), mask=future, is_causal=True)
        )


STYLES: dict[str, type[nn.Module]] = {
    "bare": Bare,
    "nanoGPT": NanoStyle,
    "lecture": LectureStyle,
    "hub": HubStyle,
    "dict": DictStyle,
    "encoder": EncoderDecoder,
}
