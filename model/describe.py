"""A config in numbers, as text: parameters by part, formula and error, memory, operations."""

from blockproof.model.config import ModelConfig
from blockproof.model.count import Count, cost, count

UNITS = ("", " thousand", " million", " billion", " trillion", " quadrillion")
BYTES = ("B", "KiB", "MiB", "GiB", "TiB")


def describe(config: ModelConfig) -> str:
    """Several lines: what the model is, how large each part is, and what it takes to run and to train."""
    counted = count(config)
    return "\n".join([_variants(config), "", *_parameters(counted), "", *_costs(counted)])


def _variants(config: ModelConfig) -> str:
    attention, feedforward, norm = config.attention, config.feedforward, config.norm
    heads = f"{attention.n_heads} heads of width {config.d_head}"
    if attention.kv_heads != attention.n_heads:
        heads += f", {attention.kv_heads} of keys and values"
    return (
        f"{config.n_layers} layers of width {config.d_model}, vocabulary {config.vocab_size:,}, "
        f"context {config.context:,}\n"
        f"attention {attention.kind}" + (f", {heads}" if attention.kind != "none" else "") + "\n"
        f"feed-forward {feedforward.kind}" + (f", width {config.d_ff}" if config.d_ff else "") + "\n"
        f"norm {norm.kind}, placement {norm.placement}{', and before the head' if norm.final else ''}\n"
        f"residual {config.residual.kind}, position {config.position}, init {config.init}, "
        f"head {'tied' if config.tied else 'untied'}"
    )


def _parameters(counted: Count) -> list[str]:
    rows = [(part, size) for part, size in counted.parts.items() if size]
    lines = [f"{part:<18}{size:>20,}  {size / counted.total:6.1%}" for part, size in rows]
    return [
        "parameters",
        *lines,
        f"{'all':<18}{counted.total:>20,}",
        f"{'blocks':<18}{counted.blocks:>20,}",
        f"{'12 N D²':<18}{counted.formula:>20,}  {counted.formula_error:+.3%} of the blocks, "
        f"{counted.total_error:+.3%} of all",
    ]


def _costs(counted: Count) -> list[str]:
    takes = cost(counted)
    return [
        "memory, float32",
        f"{'weights':<18}{_bytes(takes.weights):>20}",
        f"{'with AdamW':<18}{_bytes(takes.adam):>20}  weights, gradients, two moments; no activations",
        f"{'keys and values':<18}{_bytes(takes.cache):>20}  of one full context",
        "",
        "operations of matrix products per token, at full context",
        f"{'forward':<18}{takes.forward:>20,}  {_words(takes.forward)}",
        f"{'training':<18}{takes.training:>20,}  {_words(takes.training)}",
    ]


def _bytes(size: float) -> str:
    for unit in BYTES[:-1]:
        if size < 1024:
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} {BYTES[-1]}"


def _words(number: float) -> str:
    for unit in UNITS[:-1]:
        if number < 1000:
            return f"{number:.1f}{unit}"
        number /= 1000
    return f"{number:.1f}{UNITS[-1]}"
