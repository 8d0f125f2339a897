"""Weights go to Hugging Face's models and back: equal logits and equal gradients, in float64."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from blockproof.model.config import ModelConfig
from blockproof.model.exchange import from_hub, to_hub
from blockproof.model.labels import cross_entropy, shift
from blockproof.model.schema import ConfigError
from blockproof.model.transformer import Transformer
from blockproof.tests.helpers import randomise

transformers = pytest.importorskip(
    "transformers", reason="parity needs Hugging Face's models: pip install transformers"
)

V, CONTEXT, D, LAYERS, HEADS, GROUPS, WIDTH = 29, 11, 24, 3, 6, 2, 40
SIZES: dict[str, Any] = {"vocab_size": V, "context": CONTEXT, "d_model": D, "n_layers": LAYERS}
CONFIGS: dict[str, dict[str, Any]] = {
    "gpt2": SIZES | {"attention": {"n_heads": HEADS}, "feedforward": {"kind": "gelu_tanh"}},
    "llama": SIZES
    | {
        "position": "rope",
        "tied": False,
        "attention": {"n_heads": HEADS, "n_kv_heads": GROUPS, "qkv_bias": False, "output_bias": False},
        "feedforward": {"kind": "swiglu", "width": WIDTH, "bias": False},
        "norm": {"kind": "rmsnorm", "eps": 1e-4},
    },
}


def config_of(family: str) -> ModelConfig:
    return ModelConfig.from_dict(CONFIGS[family])


class Wide:
    """torch, with float64 wherever float32 is asked for by name: their norm works in float32 else."""

    float32 = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@pytest.fixture(autouse=True)
def in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their code with its casts to float32 lifted, so that nothing but rounding is left to differ."""
    from transformers.models.llama import modeling_llama  # noqa: PLC0415 (only where there is transformers)

    def rotary(self: Any, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        d = D // HEADS
        inverse = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        angles = (position_ids[..., None] * inverse).repeat(1, 1, 2)
        return angles.cos(), angles.sin()

    monkeypatch.setattr(modeling_llama, "torch", Wide())
    monkeypatch.setattr(modeling_llama.LlamaRotaryEmbedding, "forward", rotary)


def ours(family: str) -> Transformer:
    return randomise(Transformer(config_of(family)), 0.2).double().eval()


def theirs(family: str) -> nn.Module:
    if family == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=V, n_positions=CONTEXT, n_embd=D, n_layer=LAYERS, n_head=HEADS
        )
        model = transformers.GPT2LMHeadModel(config)
    else:
        config = transformers.LlamaConfig(
            vocab_size=V, max_position_embeddings=CONTEXT, hidden_size=D, num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, num_key_value_heads=GROUPS, intermediate_size=WIDTH, rms_norm_eps=1e-4,
        )  # fmt: skip
        model = transformers.LlamaForCausalLM(config)
    return randomise(model, 0.2).double().eval()


def tokens() -> Tensor:
    return torch.randint(V, (3, CONTEXT))


families = pytest.mark.parametrize("family", CONFIGS)


@families
def test_ours_in_their_model(family: str) -> None:
    """Logits, the loss that each reports, and every gradient."""
    model, hub, window = ours(family), theirs(family), tokens()
    missing = hub.load_state_dict(to_hub(model.state_dict(), model.config, family), strict=False)
    assert missing.unexpected_keys == []
    assert missing.missing_keys in ([], ["lm_head.weight"])  # GPT-2's head is its embedding
    assert_equal(model, hub, window, family)


@families
def test_their_weights_in_ours(family: str) -> None:
    model, hub, window = ours(family), theirs(family), tokens()
    model.load_state_dict(from_hub(hub.state_dict(), model.config, family))
    assert_equal(model, hub, window, family)


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


@families
def test_there_and_back(family: str) -> None:
    state = ours(family).state_dict()
    back = from_hub(to_hub(state, config_of(family), family), config_of(family), family)
    assert back.keys() == state.keys()
    assert all(torch.equal(back[name], state[name]) for name in state)


def test_refuses_what_does_not_fit() -> None:
    state = to_hub(ours("gpt2").state_dict(), config_of("gpt2"), "gpt2")
    with pytest.raises(ConfigError, match="no family 'gpt'; did you mean 'gpt2'"):
        to_hub(state, config_of("gpt2"), "gpt")
    with pytest.raises(ConfigError, match=r"has no place in gpt2 weights"):
        to_hub(ours("llama").state_dict(), config_of("llama"), "gpt2")
    with pytest.raises(ConfigError, match=r"lack 'transformer.h.0.ln_1.weight'"):
        from_hub({k: v for k, v in state.items() if "ln_1" not in k}, config_of("gpt2"), "gpt2")
    wider = ModelConfig.from_dict(CONFIGS["gpt2"] | {"vocab_size": V + 1})
    with pytest.raises(
        ConfigError, match=r"transformer.wte.weight has shape \(29, 24\), the config asks for \(30, 24\)"
    ):
        from_hub(state, wider, "gpt2")
