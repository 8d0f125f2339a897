"""Learning to the floor through the seam: right models end at it, faulty ones beside it."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from blockproof.tests.checks import learning
from blockproof.tests.checks.controls import Bigram
from blockproof.tests.checks.evidence import LackingError
from blockproof.tests.checks.learning import learns_to_the_floor, regenerated
from blockproof.tests.checks.overfit import twins
from blockproof.tests.seam.subject import subject
from blockproof.tests.unit.seam.styles import STYLES, Bare, NanoStyle, V


@pytest.mark.parametrize("style", ["nanoGPT", "hub", "encoder"])
def test_right_models_end_at_the_floor(style: str) -> None:
    evidence = learns_to_the_floor(subject(style, STYLES[style]))
    assert evidence.sound, evidence.problem
    assert evidence.measured["tokens given back"] == 1.0


def gpt2_init() -> nn.Module:
    """As GPT-2 starts, much too small for a width of 32."""
    model = NanoStyle()
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            nn.init.normal_(
                parameter, std=0.02 / (2 if name.endswith(("output.weight", "down.weight")) else 1)
            )
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
    return model


def test_a_small_init_is_given_the_time_that_it_needs() -> None:
    evidence = learns_to_the_floor(subject("small", gpt2_init))
    assert evidence.sound, evidence.problem


def shifted_twice() -> nn.Module:
    class Model(NanoStyle):
        def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
            logits, loss = super().forward(idx, targets)
            if targets is not None:
                loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten())
            return logits, loss

    return Model()


def shifted_never() -> nn.Module:
    class Model(NanoStyle):
        def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
            logits, loss = super().forward(idx, targets)
            return logits, loss if targets is None else nn.functional.cross_entropy(
                logits.flatten(0, 1), idx.flatten()
            )

    return Model()


def blind() -> nn.Module:
    class Model(Bare):
        def forward(self, ids: Tensor) -> Any:
            return self.net(ids.flatten()[:, None]).reshape(*ids.shape, -1)

    return Model()


@pytest.mark.parametrize(
    ("factory", "words"),
    [(shifted_twice, "above the floor"), (shifted_never, "below the floor"), (blind, "above the floor")],
)
def test_faults_end_beside_the_floor(factory: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last, longer try is cut short: these stand where they stand."""
    monkeypatch.setattr(learning, "LONGER", 20)
    evidence = learns_to_the_floor(subject("faulty", factory))
    assert words in evidence.problem
    assert evidence.remedy


def test_what_is_given_back_is_what_the_prefix_tells() -> None:
    tokens = twins()

    class Perfect(nn.Module):
        def forward(self, ids: Tensor) -> Tensor:
            rows = [next(row for row in tokens if torch.equal(row[: len(part)], part)) for part in ids]
            return nn.functional.one_hot(torch.stack([row[1 : ids.shape[1] + 1] for row in rows]), V).float()

    assert regenerated(Perfect(), tokens) == 1.0
    assert regenerated(Bigram(V), tokens) < 0.5


@pytest.mark.parametrize("given", [{"vocab_size": 9}, {"context": 8}])
def test_a_model_that_cannot_take_the_batch_is_not_asked(given: dict[str, Any]) -> None:
    with pytest.raises(LackingError, match="the batch needs 10 ids and 9 tokens"):
        learns_to_the_floor(subject("small", Bare, **given))
