"""The configs that every contract is held to: those in use, made small, and a sample of all there are."""

from itertools import combinations
from typing import Any

from allpairspy import AllPairs  # type: ignore[import-untyped]

from blockproof.ablations.catalogue import ABLATIONS
from blockproof.ablations.spec import SCALES, expand
from blockproof.model.config import ModelConfig, preset, presets
from blockproof.model.nested import leaves, with_values
from blockproof.model.schema import ConfigError
from blockproof.tests.contract.options import (
    DEFAULTS,
    OPTIONS,
    Pair,
    accepted,
    all_pairs,
    config_of,
    repaired,
)

WIDTHS = (24, 48)  # 4 and 6 heads go into both; at the second, what needs a wider model finds it


def in_use() -> dict[str, ModelConfig]:
    """The models of all specs and presets, at their own sizes, by where they are found."""
    found = {name: preset(name) for name in presets()}
    for name, ablation in ABLATIONS.items():
        models = [cell.model for scale in SCALES for cell in expand(ablation.spec, scale)]
        distinct = dict.fromkeys(map(ModelConfig.from_dict, models))
        found |= {f"{name}-{number}": config for number, config in enumerate(distinct, start=1)}
    return found


def shrunk(config: ModelConfig) -> ModelConfig:
    """The same choices at sizes that run in no time.

    One head stays one, and a power of two stays one, since ALiBi tells them apart; keys and values stay
    with one head, with as many as the queries, or in between.
    """
    old = config.attention
    heads = 1 if old.n_heads == 1 else 6 if old.n_heads & (old.n_heads - 1) else 4
    shared = {None: None, 1: 1, old.n_heads: heads}.get(old.n_kv_heads, 2)
    sizes = {
        "vocab_size": 11,
        "context": 7,
        "n_layers": min(config.n_layers, 2),
        "attention.n_heads": heads,
        "attention.n_kv_heads": shared,
        "feedforward.width": config.feedforward.width and 40,
    }
    for d_model in WIDTHS:
        values = leaves(with_values(config.to_dict(), {**sizes, "d_model": d_model}))
        if small := accepted(values):
            return small
    raise ConfigError(f"no width of {WIDTHS} serves {config}: add one that does")


def sample() -> list[ModelConfig]:
    """Configs in which every two values of two fields occur together, if any config holds both.

    The greedy search stops where no next config has a new pair; what it leaves is added.
    """
    rows = AllPairs(list(OPTIONS.values()), filter_func=lambda row: accepted(_named(row)) is not None)
    configs = [config_of(_named(row)) for row in rows]
    found = pairs_of(configs)
    left = [pair for pair in all_pairs() if pair not in found and repaired(dict(pair))]
    while left:
        configs.append(_holding(left))
        found = pairs_of(configs[-1:])
        left = [pair for pair in left if pair not in found]
    return configs


def pairs_of(configs: list[ModelConfig]) -> set[Pair]:
    """Every two values of two fields that occur together."""
    return {pair for config in configs for pair in combinations(leaves(config.to_dict()).items(), 2)}


def _named(row: list[Any]) -> dict[str, Any]:
    """Values by path; a row that the search has only begun has the first paths alone."""
    return dict(zip(OPTIONS, row, strict=False))


def _holding(pairs: list[Pair]) -> ModelConfig:
    """A config that holds the first pair, and of the others what goes with it."""
    held = dict(pairs[0])
    for pair in pairs[1:]:
        both = {**dict(pair), **held}
        if all(both[path] == value for path, value in pair) and repaired(both, most=1):
            held = both
    config = repaired(held)
    assert config is not None, "only pairs that some config holds are asked for"
    return config


def _label(config: ModelConfig) -> str:
    """The variants that it names, other than the defaults."""
    chosen = leaves(config.to_dict()).items()
    return "".join(
        f"-no-{path.removesuffix('.kind')}" if value == "none" else f"-{value}"
        for path, value in chosen
        if isinstance(value, str) and value != DEFAULTS[path]
    )


def _distinct(configs: dict[str, ModelConfig]) -> dict[str, ModelConfig]:
    """Each once, by the first of its names."""
    first = {config: name for name, config in reversed(configs.items())}
    return {f"{name}{_label(config)}": config for name, config in configs.items() if first[config] == name}


IN_USE = in_use()
SAMPLE = sample()
CONFIGS = _distinct(
    {name: shrunk(config) for name, config in IN_USE.items()}
    | {f"pairs{number:02}": config for number, config in enumerate(SAMPLE, start=1)}
)
