"""The parts of a model's config: one small config for each, which names its variant and its sizes."""

from dataclasses import dataclass

from blockproof.model.attention import ATTENTIONS
from blockproof.model.feedforward import FEEDFORWARDS
from blockproof.model.norm import NORMS
from blockproof.model.residual import PLACEMENTS, RESIDUALS
from blockproof.model.schema import Config, ConfigError, choice, number


@dataclass(frozen=True, kw_only=True)
class AttentionConfig(Config):
    """How information moves between positions.

    Attributes:
        kind: a key of ``ATTENTIONS``.
        n_heads: H, heads of width D / H.
        n_kv_heads: heads of keys and values, each shared by n_heads / n_kv_heads queries; all if not given.
        qkv_bias: whether queries, keys and values have a bias.
        output_bias: whether the output projection has one.
        dropout: probability, of each attention weight.
        output_dropout: probability, of each feature after the output projection.
    """

    kind: str = choice(ATTENTIONS, "fused")
    n_heads: int = number(1, low=1)
    n_kv_heads: int | None = number(None, low=1)
    qkv_bias: bool = True
    output_bias: bool = True
    dropout: float = number(0.0, low=0.0, below=1.0)
    output_dropout: float = number(0.0, low=0.0, below=1.0)

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.n_kv_heads or self.n_heads

    def validate(self) -> None:
        """Every head of keys and values serves as many queries."""
        self.refuse_idle(self.kind == "none", "there is no attention", keep=("kind",))
        if self.n_heads % self.kv_heads:
            raise ConfigError(
                f"n_heads {self.n_heads} cannot share n_kv_heads {self.kv_heads} evenly: "
                f"choose an n_kv_heads that divides n_heads"
            )


@dataclass(frozen=True, kw_only=True)
class FeedForwardConfig(Config):
    """What is done to each position by itself.

    Attributes:
        kind: a key of ``FEEDFORWARDS``.
        width: F, hidden features; if not given, the kind's own (see ``ModelConfig.d_ff``).
        bias: whether its linear layers have a bias.
        dropout: probability, of each feature after the last layer.
    """

    kind: str = choice(FEEDFORWARDS, "gelu")
    width: int | None = number(None, low=1)
    bias: bool = True
    dropout: float = number(0.0, low=0.0, below=1.0)

    def validate(self) -> None:
        """Without a feed-forward there is nothing to set."""
        self.refuse_idle(self.kind == "none", "there is no feed-forward", keep=("kind",))


@dataclass(frozen=True, kw_only=True)
class NormConfig(Config):
    """What keeps the stream, or what is read from it, in scale.

    Attributes:
        kind: a key of ``NORMS``.
        placement: where the norm stands in a sub-layer; a key of ``PLACEMENTS``.
        final: whether there is one before the head.
        eps: added to the variance (or mean square) under the root.
        bias: whether norms have a shift; if not given, LayerNorm has and RMSNorm has not.
    """

    kind: str = choice(NORMS, "layernorm")
    placement: str = choice(PLACEMENTS, "pre")
    final: bool = True
    eps: float = number(1e-5, low=0.0)
    bias: bool | None = None

    def validate(self) -> None:
        """Without a norm there is nothing to set."""
        bare = self.placement == "none" and not self.final
        self.refuse_idle(bare, "there is no norm", keep=("placement", "final"))


@dataclass(frozen=True, kw_only=True)
class ResidualConfig(Config):
    """What is carried past a sub-layer.

    Attributes:
        kind: a key of ``RESIDUALS``.
        dropout: probability, of each feature that is carried past.
    """

    kind: str = choice(RESIDUALS, "add")
    dropout: float = number(0.0, low=0.0, below=1.0)

    def validate(self) -> None:
        """Nothing is dropped where nothing is carried."""
        self.refuse_idle(self.kind == "none", "nothing is carried past", keep=("kind",))
