"""The reference model, its data and its training; start at ``transformer``. No experiments live here."""

from blockproof.model.config import ModelConfig, preset
from blockproof.model.transformer import Transformer

__all__ = ["ModelConfig", "Transformer", "preset"]
