"""What every class in a table of variants has in common."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blockproof.model.config import ModelConfig


class Variant:
    """A part of the model that a config chooses by name. Its constructor takes the config.

    To add one, write its class and give it a name in that file's table: configs, counts, specs and the
    contract tests find it there. A placement calls its norm ``norm`` and joins through ``self.residual``.
    Where a config would make it equal to another variant, let ``check`` refuse that config. The tests
    compare it with its formula once ``tests/oracle`` has one; until then they skip, and say so.
    """

    @classmethod
    def check(cls, config: "ModelConfig") -> None:
        """Raise ConfigError for a config that this variant cannot serve; most serve all."""

    def after_init(self) -> None:
        """Called once all weights have been drawn, for a variant that starts otherwise than they are."""
