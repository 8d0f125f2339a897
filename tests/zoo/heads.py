"""Decoders that look wrong and are right in how they are called, in their logits or in their loss."""

from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from blockproof.tests.zoo.decoder import Decoder, Padded, V


class OnesMask(Padded):
    """Makes a padding mask of ones where it is given none."""

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        return super().forward(ids, torch.ones_like(ids) if attention_mask is None else attention_mask)


class PadsAtOne(Padded):
    """Counts places among the real tokens; all padding is said to be at place 1."""

    def places(self, attention_mask: Tensor) -> Tensor:
        return (attention_mask.cumsum(dim=-1) - 1).masked_fill(attention_mask == 0, 1)


class Tied(Decoder):
    """Its head is the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.lm_head.weight = self.wte.weight


class OtherKernels(Decoder):
    """Its head sums features in another order for other sizes of the batch, as kernels do, in float32 alone."""

    def logits(self, x: Tensor) -> Tensor:
        parts = len(x) % 3 + 1
        pairs = zip(
            x.float().chunk(parts, dim=-1), self.lm_head.weight.float().chunk(parts, dim=-1), strict=True
        )
        return torch.stack([F.linear(features, weight) for features, weight in pairs]).sum(dim=0)


class ShiftsInside(Decoder):
    """Scores ``logits[:, :-1]`` against ``labels[:, 1:]``, where -100 asks for nothing."""

    def forward(self, ids: Tensor, labels: Tensor | None = None) -> Any:
        logits = super().forward(ids)
        return SimpleNamespace(logits=logits, loss=None if labels is None else self.loss(logits, labels))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Mean nats of logits (B, T, V) on labels (B, T)."""
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


class Centred(ShiftsInside):
    """Its logits at each place have a mean of 0."""

    def logits(self, x: Tensor) -> Tensor:
        logits = super().logits(x)
        return logits - logits.mean(dim=-1, keepdim=True)


class ShiftsInHelper(ShiftsInside):
    """Hands labels on as they are; Hugging Face's function for the loss shifts them."""

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        from transformers.loss.loss_utils import ForCausalLMLoss  # noqa: PLC0415 (takes seconds)

        return ForCausalLMLoss(logits, labels, vocab_size=V)
