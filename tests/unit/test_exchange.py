"""Weights go to Hugging Face's models and back: equal logits and equal gradients, in float64."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from blockproof.model.config import ModelConfig
from blockproof.model.exchange import from_hub, to_hub
from blockproof.model.labels import cross_entropy, shift
from blockproof.model.schema import ConfigError
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import same
from blockproof.tests.unit.theirs import (
    CONTEXT,
    GPT2,
    V,
    config_of,
    family_of,
    in_float64,
    models,
    ours,
    theirs,
    tokens,
)


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    with in_float64():
        yield


@models
def test_ours_in_their_model(name: str) -> None:
    """Logits, the loss that each reports, and every gradient."""
    model, hub, window = ours(name), theirs(name), tokens()
    missing = hub.load_state_dict(to_hub(model.state_dict(), model.config, family_of(name)), strict=False)
    assert missing.unexpected_keys == []
    assert missing.missing_keys == ["lm_head.weight"] * model.config.tied  # theirs is the embedding then
    assert_equal(model, hub, window, family_of(name))


@models
def test_their_weights_in_ours(name: str) -> None:
    model, hub, window = ours(name), theirs(name), tokens()
    model.load_state_dict(from_hub(hub.state_dict(), model.config, family_of(name)))
    assert_equal(model, hub, window, family_of(name))


def assert_equal(model: Transformer, hub: nn.Module, window: Tensor, family: str) -> None:
    torch.testing.assert_close(model(window), hub(window).logits, rtol=0, atol=1e-12)
    batch = shift(window)
    loss, reported = cross_entropy(model(batch.inputs), batch.targets), hub(window, labels=window).loss
    assert loss.item() == pytest.approx(reported.item(), rel=1e-6)  # theirs is worked out in float32
    direction = torch.randn(3, CONTEXT, V, dtype=torch.float64)
    (model(window) * direction).sum().backward()
    (hub(window).logits * direction).sum().backward()
    gradients = {name: torch.as_tensor(p.grad) for name, p in model.named_parameters()}
    by_hub = to_hub(gradients, model.config, family)
    found = {name: torch.as_tensor(p.grad) for name, p in hub.named_parameters()}
    assert by_hub.keys() == found.keys()
    for name, gradient in by_hub.items():
        torch.testing.assert_close(gradient, found[name], rtol=1e-10, atol=1e-11, msg=name)


@models
def test_there_and_back(name: str) -> None:
    state, config, family = ours(name).state_dict(), config_of(name), family_of(name)
    assert same(from_hub(to_hub(state, config, family), config, family), state)


@models
def test_stored_without_the_head_or_with_what_can_be_worked_out(name: str) -> None:
    """As the hub's own files are: short names, masks, frequencies, a tied head once more."""
    state, config, family = ours(name).state_dict(), config_of(name), family_of(name)
    full = to_hub(state, config, family)
    short = {each.removeprefix("transformer.").removeprefix("model."): x for each, x in full.items()}
    worked_out = {
        "gpt2": {"h.0.attn.bias": torch.ones(1, 1, 5, 5), "h.0.attn.masked_bias": torch.tensor(-1e4)},
        "llama": {"layers.0.self_attn.rotary_emb.inv_freq": torch.ones(2)},
    }[family]
    if config.tied:
        worked_out["lm_head.weight"] = state["token.weight"].clone()
    assert same(from_hub(short | worked_out, config, family), state)


def test_refuses_what_does_not_fit() -> None:
    config = config_of("gpt2")
    state = to_hub(ours("gpt2").state_dict(), config, "gpt2")
    with pytest.raises(ConfigError, match="no family 'gpt'; did you mean 'gpt2'"):
        to_hub(state, config, "gpt")
    with pytest.raises(ConfigError, match=r"has no place in gpt2 weights"):
        to_hub(ours("llama").state_dict(), config_of("llama"), "gpt2")
    with pytest.raises(ConfigError, match=r"lack 'transformer.h.0.ln_1.weight'"):
        from_hub({k: v for k, v in state.items() if "ln_1" not in k}, config, "gpt2")
    wider = ModelConfig.from_dict(GPT2 | {"vocab_size": V + 1})
    with pytest.raises(
        ConfigError, match=r"transformer.wte.weight has shape \(29, 24\), the config asks for \(30, 24\)"
    ):
        from_hub(state, wider, "gpt2")
    shallow = ModelConfig.from_dict(GPT2 | {"n_layers": 2})
    with pytest.raises(
        ConfigError, match=r"no place for 'transformer.h.2.attn.c_attn.bias' \(12 left over\)"
    ):
        from_hub(state, shallow, "gpt2")
    with pytest.raises(ConfigError, match="the config ties them: set tied"):
        from_hub(state | {"lm_head.weight": torch.zeros(V, 24)}, config, "gpt2")
