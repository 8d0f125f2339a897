"""Labels and loss: shifts, what is ignored, and a softmax too many."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

HAND = "unit/test_labels.py::test_shift_by_hand"
EARLY = "unit/test_labels.py::test_early_targets_are_ignored"
NEXT = "conformance/test_labels.py::test_loss_asks_for_the_next_token"
IGNORED = "conformance/test_labels.py::test_ignored_labels_give_neither_loss_nor_gradient"

TARGETS = "targets = tokens[:, 1:].clone()"
CALL = "F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE, reduction=kind)"


def labels(old: str, new: str) -> tuple[Patch]:
    """A change in the one file that knows of labels."""
    return (Patch("model.labels", old, new),)


def called(logits: str = "logits.flatten(0, 1)", targets: str = "targets.flatten()") -> tuple[Patch]:
    """Another call of torch's cross-entropy."""
    return labels(CALL, f"F.cross_entropy({logits}, {targets}, ignore_index=IGNORE, reduction=kind)")


MUTANTS = (
    Mutant(
        "labels are shifted twice",
        ("D01",),
        ("huggingface/transformers#44642",),
        labels("Batch(tokens[:, :-1], targets)", "Batch(tokens[:, :-2], targets[:, 1:])"),
        HAND,
        "training_lowers_the_loss",
    ),
    Mutant(
        "labels come shifted and the loss shifts once more",
        ("D02",),
        ("huggingface/transformers#46898",),
        called("logits[:, :-1].flatten(0, 1)", "targets[:, 1:].flatten()"),
        NEXT,
        "overfits",
    ),
    Mutant(
        "labels are not shifted",
        ("D03",),
        ("huggingface/transformers#10480",),
        labels(TARGETS, "targets = tokens[:, :-1].clone()"),
        HAND,
        "training_lowers_the_loss",
    ),
    Mutant(
        "the data marks with -1 what the loss ignores at -100",
        ("D04",),
        ("huggingface/transformers#2759",),
        labels("targets[:, : first_target - 1] = IGNORE", "targets[:, : first_target - 1] = -1"),
        EARLY,
        "overfits",
    ),
    Mutant(
        "ignored labels are asked for as id 0",
        ("D05",),
        ("lucidrains/DALLE-pytorch#57",),
        called(targets="targets.flatten().clamp(min=0)"),
        IGNORED,
        "overfits",
    ),
    Mutant(
        "the mean counts ignored labels too",
        ("D05",),
        ("01-ai/Yi#110",),
        labels("(targets != IGNORE).sum().clamp(min=1)", "targets.numel()"),
        IGNORED,
        "overfits",
    ),
    Mutant(
        "a real id is ignored because padding has it too",
        ("D06",),
        ("huggingface/trl#976",),
        called(targets="targets.flatten().masked_fill(targets.flatten() == 0, IGNORE)"),
        NEXT,
        "loss_falls",
    ),
    Mutant(
        "softmax before the cross-entropy",
        ("D07",),
        ("bkitano/llama-from-scratch#5",),
        called("logits.flatten(0, 1).softmax(dim=-1)"),
        NEXT,
        "loss_falls",
    ),
    Mutant(
        "the model gives probabilities",
        ("D09",),
        ("bowang-lab/Transformer-GCN-QA#32",),
        (
            Patch(
                "model.transformer",
                "return F.linear(self.norm(x), matrix, self.head_bias)",
                "return F.linear(self.norm(x), matrix, self.head_bias).softmax(dim=-1)",
            ),
        ),
        "conformance/test_start.py::test_loss_starts_near_that_of_a_guess",
        "loss_falls",
    ),
)
