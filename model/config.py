"""What a model is: sizes, and for each part its variant, looked up by name in that part's table."""

from dataclasses import dataclass
from importlib import resources

from blockproof.model.attention import ATTENTIONS
from blockproof.model.feedforward import FEEDFORWARDS
from blockproof.model.init import INITS
from blockproof.model.norm import NORMS
from blockproof.model.parts import AttentionConfig, FeedForwardConfig, NormConfig, ResidualConfig
from blockproof.model.position import POSITIONS
from blockproof.model.residual import PLACEMENTS, RESIDUALS
from blockproof.model.schema import Config, ConfigError, choice, hint, number, part


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """A decoder-only transformer.

    Attributes:
        vocab_size: V, number of token ids.
        context: the longest sequence, in tokens.
        d_model: D, width of the residual stream.
        n_layers: N, number of blocks.
        position: how a token's place is told; a key of ``POSITIONS``.
        init: how weights are drawn; a key of ``INITS``.
        tied: whether the head is the token embedding, transposed, or a matrix of its own.
        head_bias: whether the head has a bias.
        embedding_dropout: probability, of each feature of token and position together.
    """

    vocab_size: int = number(low=1)
    context: int = number(low=1)
    d_model: int = number(low=1)
    n_layers: int = number(low=1)
    position: str = choice(POSITIONS, "learned")
    init: str = choice(INITS, "gpt2")
    tied: bool = True
    head_bias: bool = False
    embedding_dropout: float = number(0.0, low=0.0, below=1.0)
    attention: AttentionConfig = part(AttentionConfig)
    feedforward: FeedForwardConfig = part(FeedForwardConfig)
    norm: NormConfig = part(NormConfig)
    residual: ResidualConfig = part(ResidualConfig)

    def validate(self) -> None:
        """Heads must share the width evenly, a block must do something, every variant must agree."""
        if self.d_model % self.attention.n_heads:
            raise ConfigError(
                f"d_model {self.d_model} cannot be divided among n_heads {self.attention.n_heads}: "
                f"choose a d_model that is a multiple of n_heads"
            )
        if self.attention.kind == self.feedforward.kind == "none":
            raise ConfigError("a block without attention and without feed-forward is empty: keep one of them")
        for variant in (
            ATTENTIONS[self.attention.kind],
            FEEDFORWARDS[self.feedforward.kind],
            NORMS[self.norm.kind],
            PLACEMENTS[self.norm.placement],
            RESIDUALS[self.residual.kind],
            POSITIONS[self.position],
        ):
            if variant is not None:
                variant.check(self)

    @property
    def d_head(self) -> int:
        """d, width of one head."""
        return self.d_model // self.attention.n_heads

    @property
    def d_kv(self) -> int:
        """Features of all keys together, and of all values."""
        return self.d_head * self.attention.kv_heads

    @property
    def d_ff(self) -> int:
        """F, hidden features of the feed-forward; 0 without one."""
        variant, chosen = FEEDFORWARDS[self.feedforward.kind], self.feedforward
        if variant is None:
            return 0
        return chosen.width or variant.default_width(self.d_model, chosen.bias)


def find(name: str) -> ModelConfig:
    """The config in a YAML file, if the name has its ending, else a preset."""
    return ModelConfig.from_yaml(name) if name.endswith((".yaml", ".yml")) else preset(name)


def preset(name: str) -> ModelConfig:
    """A model that ships with the project, from ``configs/NAME.yaml``.

    Raises:
        ConfigError: if there is none of that name.
    """
    if name not in presets():
        raise ConfigError(f"there is no preset {name!r}{hint(name, presets())}")
    with resources.as_file(_folder() / f"{name}.yaml") as path:
        return ModelConfig.from_yaml(path)


def presets() -> list[str]:
    """The names of all models that ship with the project."""
    return sorted(
        file.name.removesuffix(".yaml") for file in _folder().iterdir() if file.name.endswith(".yaml")
    )


def _folder() -> resources.abc.Traversable:
    return resources.files("blockproof.model") / "configs"
