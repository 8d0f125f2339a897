"""The tests themselves, and the counts: a judge that is wrong must be caught by the tests of the judge."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

NAN = "unit/checks/test_rows.py::test_nan_is_a_fault"


def precision(old: str, new: str) -> tuple[Patch]:
    """A change in how logits are compared."""
    return (Patch("tests.checks.precision", old, new),)


def widths(new: str) -> tuple[Patch]:
    """Another default width of the gated feed-forward."""
    old = "round((8 * d_model**2 + 4 * bias * d_model) / (3 * d_model + 2 * bias))"
    return (Patch("model.feedforward", old, new),)


MUTANTS = (
    Mutant(
        "models to be judged are not seeded",
        ("X01",),
        ("jina-ai/finetuner#252",),
        (Patch("tests.seam.subject", "torch.manual_seed(1000 * self.seed + seed)", "pass"),),
        "unit/seam/test_subject.py::test_builds_the_same_model_every_time_and_another_for_another_seed",
        "overfits",
    ),
    Mutant(
        "a tiny batch is learnt with dropout on",
        ("X02",),
        ("NVIDIA-NeMo/RL#3999",),
        (Patch("tests.checks.overfit", "    model.eval()\n", "    model.train()\n"),),
        "conformance/test_overfit.py::test_learns_a_tiny_batch_to_its_floor",
        "overfits",
    ),
    Mutant(
        "NaN equals anything",
        ("X03",),
        ("pytorch/pytorch#72194",),
        precision("change = torch.where(a == b, 0.0, (a - b).abs())", "change = (a - b).abs().nan_to_num()"),
        NAN,
        "overfits",
    ),
    Mutant(
        "NaN is not above the bound",
        ("X04",),
        ("NervanaSystems/ngraph#2028",),
        precision("if not value <= bound:", "if value > bound:"),
        NAN,
        "overfits",
    ),
    Mutant(
        "the changed input is the input",
        ("X05",),
        ("stanford-cs336/assignment1-basics#4",),
        (
            Patch(
                "tests.checks.causality",
                "torch.randint(1, vocab_size, (T,))",
                "torch.zeros(T, dtype=torch.int64)",
            ),
        ),
        "conformance/test_causality.py::test_every_output_depends_on_the_past",
        "overfits",
    ),
    Mutant(
        "the blocks are counted with the embedding",
        ("U01",),
        ("karpathy/nanoGPT#209",),
        (
            Patch(
                "model.count",
                "for parameter in model.blocks.parameters()",
                "for parameter in model.parameters()",
            ),
        ),
        "unit/test_count.py::test_error_of_the_formula",
        "parameter_count",
    ),
    Mutant(
        "a tied head is left out of the operations",
        ("U02",),
        ("pytorch/torchtitan#3225",),
        (
            Patch(
                "model.count",
                "+ config.vocab_size * config.d_model",
                "+ config.vocab_size * config.d_model * (not config.tied)",
            ),
        ),
        "unit/test_count.py::test_operations_of_every_variant",
        "parameter_count",
    ),
    Mutant(
        "the gate makes the width larger, not smaller",
        ("U06",),
        ("stas00/ml-engineering#45",),
        widths("round(4 * d_model * 3 / 2)"),
        "unit/test_feedforward.py::test_swiglu_is_matched_in_parameters",
        "overfits",
    ),
    Mutant(
        "a gated feed-forward is not matched in size",
        ("U07",),
        ("allenai/OLMo#29",),
        widths("4 * d_model"),
        "unit/test_feedforward.py::test_swiglu_is_matched_in_parameters",
        "overfits",
    ),
    Mutant(
        "a stated width is scaled all the same",
        ("U08",),
        ("epfLLM/Megatron-LLM#64",),
        (
            Patch(
                "model.config", "return chosen.width or", "return chosen.width and chosen.width * 2 // 3 or"
            ),
        ),
        "unit/test_feedforward.py::test_a_stated_width_is_honoured",
        "overfits",
    ),
)
