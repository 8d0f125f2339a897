"""What the report shows of a model that has learnt: where its heads look."""

from collections.abc import Callable
from typing import Any

import torch

from blockproof.model.config import ModelConfig
from blockproof.model.labels import cross_entropy, shift
from blockproof.model.trace import attention_weights
from blockproof.model.transformer import Transformer
from blockproof.tests.checks.overfit import overfit, twins
from blockproof.tests.subjects import CONFIGS


def test_a_head_of_a_trained_model_looks_at_what_tells_the_answer(
    keep: Callable[[str, str, Any], None],
) -> None:
    """At the question (place 3) the answer depends on the order of places 1 and 2: some head looks there."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Transformer(ModelConfig.from_dict(CONFIGS["gpt"])).eval()
    found = overfit(model, lambda m, tokens: cross_entropy(m(shift(tokens).inputs), shift(tokens).targets))
    assert found.verdict == "at the floor"
    sequence = twins()[:1, :-1]
    weights = attention_weights(model, sequence)[:, 0]  # (N, H, T, T)
    assert weights.triu(diagonal=1).abs().max() == 0.0
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), rtol=0, atol=1e-6)
    asked = weights[:, :, 3, 1:3].sum(-1)  # (N, H)
    layer, head = divmod(int(asked.argmax()), asked.shape[1])
    assert asked[layer, head] > 0.6  # an even look at four places would give 0.5
    keep(
        "pictures",
        "attention",
        {
            "layer": layer,
            "head": head,
            "tokens": sequence[0].tolist(),
            "weights": weights[layer, head].tolist(),
        },
    )
