"""What every class in a table of variants has in common."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class Variant:
    """A part of the model that a config chooses by name. Its constructor takes the config.

    To add one, write its class and give it a name in the table at the end of that file: configs, counts,
    specs and the contract tests find it there.
    """

    @classmethod
    def check(cls, config: "ModelConfig") -> None:
        """Raise ConfigError for a config that this variant cannot serve; most serve all."""

    def after_init(self) -> None:
        """Called once all weights have been drawn, for a variant that starts otherwise than they are."""
