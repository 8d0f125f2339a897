"""Models of other people's making, judged by every check: no right one turns red."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from blockproof.tests.checks import (
    bounds,
    cache,
    causal,
    learning,
    modes,
    order,
    padding,
    registered,
    reported,
    rows,
    start,
    tying,
)
from blockproof.tests.checks.evidence import Evidence, LackingError
from blockproof.tests.seam.subject import Subject, subject
from blockproof.tests.unit.seam.styles import STYLES

CHECKS: list[Callable[[Subject], Evidence]] = [
    reported.asks_for_the_next_token, reported.ignores_what_is_to_be_ignored, causal.past_matters,
    causal.causal_at_full_context, rows.rows, rows.prefix, padding.masked_padding, start.initial_loss,
    start.every_parameter_learns, start.finite_in_bfloat16, registered.everything_is_registered,
    modes.eval_is_deterministic, modes.training_drops, tying.tying, order.order, cache.cache,
]  # fmt: skip
SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
}


def hub(kind: str) -> Callable[[], nn.Module]:
    """A tiny model of Hugging Face's, of random weights."""
    transformers = pytest.importorskip(
        "transformers", reason="these are Hugging Face's models: pip install transformers"
    )
    if kind == "gpt2":
        config = transformers.GPT2Config(vocab_size=50, n_positions=24, n_embd=32, n_layer=2, n_head=4)
        return lambda: transformers.GPT2LMHeadModel(config)
    config = transformers.LlamaConfig(
        **SIZES, num_key_value_heads=2, intermediate_size=64, max_position_embeddings=24
    )
    return lambda: transformers.LlamaForCausalLM(config)


@pytest.fixture(scope="module", params=["gpt2", "llama", *STYLES])
def foreign(request: pytest.FixtureRequest) -> Subject:
    """One of them."""
    kind = request.param
    return subject(kind, STYLES[kind] if kind in STYLES else hub(kind))


def test_no_check_turns_red(foreign: Subject) -> None:
    ran = 0
    for check in CHECKS:
        try:
            evidence = check(foreign)
        except LackingError:
            continue
        assert evidence.sound, f"{check.__name__}: {evidence.problem}"
        ran += 1
    for training in (False, True):
        evidence = causal.causal(foreign, torch.float64, training=training, strong=True)
        assert evidence.sound, evidence.problem
    assert ran >= 11  # what a bare model without a loss, a mask, a cache can be asked


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_they_learn_to_the_floor(kind: str) -> None:
    evidence = learning.learns_to_the_floor(subject(kind, hub(kind)))
    assert evidence.sound, evidence.problem


def test_a_broken_promise_of_ours_is_told_of_them(foreign: Subject) -> None:
    """Ids outside the vocabulary get no clear message from any of torch's own tables."""
    own = bounds.bounds(foreign)
    assert own.sound == (foreign.name in ("bare", "nanoGPT", "lecture", "hub", "dict"))  # ours inside
