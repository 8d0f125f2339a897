"""Models of ours that the conformance tests judge when no other is named: four that differ in every part."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from blockproof.model.cache import Cache
from blockproof.model.config import ModelConfig
from blockproof.model.generate import generate
from blockproof.model.labels import cross_entropy
from blockproof.model.sampling import Sampling
from blockproof.model.transformer import Transformer

SIZES: dict[str, Any] = {"vocab_size": 23, "context": 20, "d_model": 32, "n_layers": 2, "init": "torch"}
DROPOUT: dict[str, Any] = {
    "attention": {"n_heads": 4, "dropout": 0.1, "output_dropout": 0.1},
    "feedforward": {"dropout": 0.1},
}

CONFIGS: dict[str, dict[str, Any]] = {
    "gpt": SIZES | DROPOUT | {"embedding_dropout": 0.1},
    "llama": SIZES
    | {
        "position": "rope",
        "tied": False,
        "attention": {"n_heads": 4, "n_kv_heads": 2, "qkv_bias": False, "output_bias": False},
        "feedforward": {"kind": "swiglu", "bias": False},
        "norm": {"kind": "rmsnorm", "eps": 1e-6},
    },
    "original": SIZES
    | {
        "position": "sinusoidal",
        "attention": {"kind": "separate", "n_heads": 4},
        "feedforward": {"kind": "relu"},
        "norm": {"placement": "post", "final": False},
    },
    "relative": SIZES
    | {
        "position": "alibi",
        "head_bias": True,
        "attention": {"n_heads": 4, "n_kv_heads": 1},
        "feedforward": {"kind": "silu"},
        "norm": {"placement": "sandwich"},
        "residual": {"kind": "gated"},
    },
}


class WithLoss(nn.Module):
    """A model with the loss that training minimises, called as others' models usually are."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config, self.model = config, Transformer(config)

    def forward(
        self,
        ids: Tensor,
        targets: Tensor | None = None,
        cache: Cache | None = None,
        use_cache: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor] | tuple[Tensor, Cache]:
        """Ids and targets, already shifted, (B, T) each -> logits (B, T, V), and with targets the mean nats.

        Where a cache is given or asked for, it comes with the logits instead.
        """
        if use_cache and cache is None:
            cache = Cache(self.config)
        logits = self.model(ids, cache)
        if cache is not None:
            return logits, cache
        return logits if targets is None else (logits, cross_entropy(logits, targets))

    def generate(
        self, ids: Tensor, max_new_tokens: int, do_sample: bool = False, use_cache: bool = True
    ) -> Tensor:
        """Ids (B, T) and as many new ones, by the likeliest token or at temperature 1."""
        settings = Sampling(temperature=float(do_sample))
        texts = generate(self.model, ids.tolist(), max_new_tokens, settings=settings, use_cache=use_cache)
        return torch.tensor(texts)


def factory(name: str) -> Callable[[], WithLoss]:
    """What builds the model of that name."""
    return lambda: WithLoss(ModelConfig.from_dict(CONFIGS[name]))
