"""Classic faults of a hand-written GPT, each as the change of this project's source that makes it.

A cell may name one: it is then trained by the faulty code, and everything else stays as it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from blockproof.ablations.cell import HEALTHY
from blockproof.ablations.patch import Patch, planted
from blockproof.model.schema import ConfigError, hint


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    Attributes:
        patches: plant it.
        says: what is wrong, in a few words.
        check: the test below ``tests/`` that turns red.
    """

    patches: tuple[Patch, ...]
    says: str
    check: str


FAULTS: dict[str, Fault] = {
    HEALTHY: Fault((), "nothing", ""),
    "no shift": Fault(
        (Patch("model.labels", "targets = tokens[:, 1:].clone()", "targets = tokens[:, :-1].clone()"),),
        "each place is asked for the token that it is given",
        "unit/test_labels.py::test_shift_by_hand",
    ),
    "double shift": Fault(
        (
            Patch(
                "model.labels",
                "return Batch(tokens[:, :-1], targets)",
                "return Batch(tokens[:, :-2], targets[:, 1:])",
            ),
        ),
        "each place is asked for the token after the next",
        "unit/test_labels.py::test_shift_by_hand",
    ),
    "no mask": Fault(
        (Patch("model.attention", "is_causal=mask is None", "is_causal=False"),),
        "every place attends to all places",
        "conformance/test_causality.py::test_no_output_depends_on_the_future",
    ),
    "mask transposed": Fault(
        (
            Patch(
                "model.attention",
                "q, k, v, mask, dropout_p=rate, is_causal=mask is None",
                "q, k, v, ~hidden.T, dropout_p=rate",
            ),
        ),
        "every place attends to itself and what follows, not to what came before",
        "conformance/test_causality.py::test_every_output_depends_on_the_past",
    ),
    "wrong scale": Fault(
        (
            Patch(
                "model.attention",
                "enable_gqa=self.sharing > 1",
                "enable_gqa=self.sharing > 1, scale=x.shape[-1] ** -0.5",
            ),
        ),
        "scores are divided by the root of the model's width, not of a head's",
        "unit/test_attention.py::test_fused_equals_explicit",
    ),
    "softmax twice": Fault(
        (Patch("model.labels", "logits.flatten(0, 1), t", "logits.flatten(0, 1).softmax(dim=-1), t"),),
        "the loss takes probabilities for logits",
        "conformance/test_labels.py::test_loss_asks_for_the_next_token",
    ),
    "dropout in eval": Fault(
        (Patch("model.attention", "rate = self.dropout if self.training else 0.0", "rate = self.dropout"),),
        "the functional kernel drops whatever the mode is",
        "conformance/test_modes.py::test_eval_mode_is_deterministic",
    ),
    "no residual": Fault(
        (Patch("model.residual", "return self.dropout(x) + branch", "return branch"),),
        "a sub-layer replaces its input instead of adding to it",
        "unit/test_residual.py::test_residuals_by_hand",
    ),
    "no positions": Fault(
        (Patch("model.transformer", "self.position(self.token(ids), places)", "self.token(ids)"),),
        "positions are built and not added",
        "conformance/test_order.py::test_order_of_earlier_tokens_matters",
    ),
    "embedding not trained": Fault(
        (
            Patch(
                "model.optimizer",
                "for parameter in model.parameters() if parameter.requires_grad]",
                'for name, parameter in model.named_parameters() if name != "token.weight"]',
            ),
        ),
        "the optimizer lacks the embedding, which is the head too",
        "unit/test_optimizer.py::test_each_parameter_once",
    ),
}


def find(name: str) -> Fault:
    """The fault of that name.

    Raises:
        ConfigError: if there is none.
    """
    if name not in FAULTS:
        raise ConfigError(f"there is no fault {name!r}{hint(name, FAULTS)}")
    return FAULTS[name]


@contextmanager
def planted_fault(name: str) -> Iterator[None]:
    """Run the block with the fault of that name in force; the process's other threads have it too."""
    with planted(*find(name).patches):
        yield
