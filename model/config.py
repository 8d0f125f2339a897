"""What a model is: sizes, and one name for each part, looked up in that part's table of variants."""

from dataclasses import dataclass
from importlib import resources

from blockproof.model.feedforward import FEEDFORWARDS
from blockproof.model.init import INITS
from blockproof.model.norm import NORMS
from blockproof.model.position import POSITIONS
from blockproof.model.residual import PLACEMENTS, RESIDUALS
from blockproof.model.schema import Config, ConfigError, choice, hint, number


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """A decoder-only transformer.

    Attributes:
        vocab_size: V, number of token ids.
        context: the longest sequence, in tokens.
        d_model: D, width of the residual stream.
        n_layers: number of blocks.
        n_heads: H, heads of width D / H.
        position: how a token's place is told; a key of ``POSITIONS``.
        feedforward: a key of ``FEEDFORWARDS``.
        norm: a key of ``NORMS``.
        placement: where the norm stands in a sub-layer; a key of ``PLACEMENTS``.
        residual: how a sub-layer's input is carried past it; a key of ``RESIDUALS``.
        init: how weights are drawn; a key of ``INITS``.
        tied: whether the head is the token embedding, transposed, or a matrix of its own.
        bias: whether linear layers have a bias; the head never has one.
        norm_bias: whether norms have a shift.
        dropout: probability, after softmax and after the feed-forward.
    """

    vocab_size: int = number(low=1)
    context: int = number(low=1)
    d_model: int = number(low=1)
    n_layers: int = number(low=1)
    n_heads: int = number(low=1)
    position: str = choice(POSITIONS, "learned")
    feedforward: str = choice(FEEDFORWARDS, "gelu")
    norm: str = choice(NORMS, "layernorm")
    placement: str = choice(PLACEMENTS, "pre")
    residual: str = choice(RESIDUALS, "add")
    init: str = choice(INITS, "gpt2")
    tied: bool = True
    bias: bool = True
    norm_bias: bool = True
    dropout: float = number(0.0, low=0.0, below=1.0)

    def validate(self) -> None:
        """Heads must share the width evenly."""
        if self.d_model % self.n_heads:
            raise ConfigError(
                f"d_model {self.d_model} cannot be divided among n_heads {self.n_heads}: "
                f"choose a d_model that is a multiple of n_heads"
            )

    @property
    def d_head(self) -> int:
        """Width of one head."""
        return self.d_model // self.n_heads

    @property
    def d_ff(self) -> int:
        """Hidden width of the feed-forward."""
        return 4 * self.d_model


def preset(name: str) -> ModelConfig:
    """A model that ships with the project, from ``configs/NAME.yaml``.

    Raises:
        ConfigError: if there is none of that name.
    """
    folder = resources.files("blockproof.model") / "configs"
    known = sorted(
        file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")
    )
    if name not in known:
        raise ConfigError(f"there is no preset {name!r}{hint(name, known)}")
    with resources.as_file(folder / f"{name}.yaml") as path:
        return ModelConfig.from_yaml(path)
