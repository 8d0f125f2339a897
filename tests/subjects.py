"""Models of ours that the conformance tests judge when no other is named: four that differ in every part."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from blockproof.model.config import ModelConfig
from blockproof.model.labels import cross_entropy
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
    """A model with the loss that training minimises."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config, self.model = config, Transformer(config)

    def forward(self, ids: Tensor, targets: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        """Ids and targets, already shifted, (B, T) each -> logits (B, T, V), and with targets the mean nats."""
        logits = self.model(ids)
        return logits if targets is None else (logits, cross_entropy(logits, targets))


def factory(name: str) -> Callable[[], WithLoss]:
    """What builds the model of that name."""
    return lambda: WithLoss(ModelConfig.from_dict(CONFIGS[name]))
