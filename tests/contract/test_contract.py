"""What holds for every model, whatever its config chooses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from blockproof.model.config import ModelConfig
from blockproof.model.init import HeadProjection
from blockproof.model.position import POSITIONS, Position
from blockproof.model.transformer import Transformer
from blockproof.tests.checks.causality import causality
from blockproof.tests.contract.configs import CONFIGS
from blockproof.tests.helpers import copies, randomise, same, tiny_ids
from blockproof.tests.oracle.transformer import lacking, transformer
from blockproof.tests.oracle.weights import weights_of

B = 3

each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def built(config: ModelConfig, seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(config)


def randomised(config: ModelConfig) -> Transformer:
    """In eval mode and float64, no parameter as built: many are 0 or 1 then, and hide faults."""
    return randomise(built(config)).double().eval()


def ids_for(config: ModelConfig, length: int | None = None) -> Tensor:
    """Ids (B, T), T the context if not given."""
    return tiny_ids(B, length or config.context, config.vocab_size)


@each_config
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logits_of_every_length(config: ModelConfig, dtype: torch.dtype) -> None:
    model = built(config).to(dtype)
    for length in (1, config.context // 2, config.context):
        logits = model(ids_for(config, length))
        assert logits.shape == (B, length, config.vocab_size)
        assert logits.dtype == dtype
        assert logits.isfinite().all()


@each_config
def test_no_token_sees_the_future_but_the_whole_past(config: ModelConfig) -> None:
    found = causality(randomised(config), ids_for(config), config.vocab_size)
    assert found.leak == 0.0
    assert found.blind == (earlier(config.context) if config.attention.kind == "none" else [])


def earlier(length: int) -> list[tuple[int, int]]:
    """Without attention, nothing moves between positions: each sees its own token alone."""
    return [(i, j) for i in range(length) for j in range(i)]


@each_config
def test_no_token_sees_the_future_in_training(config: ModelConfig) -> None:
    """Nor does dropout let anything through; it may well hide some of the past."""
    model = randomised(config).train()
    assert causality(model, ids_for(config), config.vocab_size).leak == 0.0


@each_config
def test_gradients_reach_every_parameter(config: ModelConfig) -> None:
    model = randomised(config)
    logits = model(ids_for(config))
    (logits * torch.randn_like(logits)).sum().backward()
    largest = {name: gradient.abs().max().item() for name, gradient in gradients_by_role(model)}
    limit = 1e-10 * max(largest.values())  # rounding stays below, what is meant above
    unreached = {name for name, size in largest.items() if not size > limit}  # NaN is not above either
    assert unreached == {name for name in largest if shifts_all_scores(name, config)}


def gradients_by_role(model: Transformer) -> Iterator[tuple[str, Tensor]]:
    """Every parameter's gradient, by name; the rows that make queries, keys and values apart."""
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(prefix=path, recurse=False):
            gradient = parameter.grad
            assert gradient is not None, name
            assert gradient.isfinite().all(), name
            if isinstance(module, HeadProjection):
                pieces = gradient.split(list(module.rows.values()))
                yield from (
                    (f"{name} of {role}", piece) for role, piece in zip(module.rows, pieces, strict=True)
                )
            else:
                yield name, gradient


def shifts_all_scores(name: str, config: ModelConfig) -> bool:
    """A key's bias b adds q·b to every score of the query q, which softmax cannot see.

    Not so where keys are turned by their places: b then is another vector for each.
    """
    turned = POSITIONS[config.position].rotate is not Position.rotate
    return name.endswith("bias of key") and not turned


@each_config
def test_config_survives_a_file(config: ModelConfig, tmp_path: Path) -> None:
    config.to_yaml(tmp_path / "model.yaml")
    assert ModelConfig.from_yaml(tmp_path / "model.yaml") == config


@each_config
def test_weights_survive_a_file(config: ModelConfig, tmp_path: Path) -> None:
    saved, other, ids = randomised(config), built(config, seed=1).double().eval(), ids_for(config)
    assert not torch.equal(other(ids), saved(ids))
    torch.save(saved.state_dict(), tmp_path / "weights.pt")
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert torch.equal(other(ids), saved(ids))


@each_config
def test_a_state_names_each_tensor_once(config: ModelConfig) -> None:
    """Parameters alone, a shared one by one name: no mask or table that could be cast or outgrown."""
    model = built(config)
    assert list(model.state_dict()) == [name for name, _ in model.named_parameters()]


@each_config
def test_tied_stays_tied(config: ModelConfig) -> None:
    """The vector of a token that is not read acts on its own logit alone, and only as the head."""
    model, saved = built(config, seed=1).double().eval(), randomised(config).state_dict()
    model.load_state_dict(saved)
    matrices = [name for name, value in saved.items() if value.shape == model.token.weight.shape]
    assert ("head.weight" in matrices) == (not config.tied)
    unread = config.vocab_size - 1
    ids = tiny_ids(B, config.context, unread)
    before = model(ids)
    with torch.no_grad():
        model.token.weight[unread] += 1.0
    changed = (model(ids) != before).any(dim=1).any(dim=0)
    assert changed.nonzero().flatten().tolist() == ([unread] if config.tied else [])


@each_config
def test_seed_decides(config: ModelConfig) -> None:
    first, again, other = (copies(built(config, seed)) for seed in (1, 1, 2))
    assert same(first, again)
    assert not same(first, other)


@each_config
def test_computes_what_the_formulas_say(config: ModelConfig) -> None:
    plain: dict[str, Any] = config.to_dict()
    if (reason := lacking(plain)) is not None:
        pytest.skip(reason)
    model, ids = randomised(config), ids_for(config)
    expected = torch.from_numpy(transformer(ids.numpy(), weights_of(model), plain))
    torch.testing.assert_close(model(ids), expected, rtol=1e-10, atol=1e-10)


@each_config
def test_gradients_are_those_of_the_values(config: ModelConfig) -> None:
    """Along a random direction of all parameters, by a central difference: a detached half would show."""
    model, ids = randomised(config), ids_for(config)
    parameters = list(model.parameters())
    weights = torch.randn(config.vocab_size, dtype=torch.float64)
    directions = [torch.randn_like(parameter) for parameter in parameters]

    def at(step: float) -> float:
        with torch.no_grad():
            for parameter, direction in zip(parameters, directions, strict=True):
                parameter.add_(step * direction)
            value = (model(ids) @ weights).mean().item()
            for parameter, direction in zip(parameters, directions, strict=True):
                parameter.sub_(step * direction)
        return value

    gradients = torch.autograd.grad((model(ids) @ weights).mean(), parameters)
    slope = sum((g * d).sum().item() for g, d in zip(gradients, directions, strict=True))
    scale = sum((g * d).abs().sum().item() for g, d in zip(gradients, directions, strict=True))
    assert abs((at(1e-6) - at(-1e-6)) / 2e-6 - slope) < 1e-6 * scale
