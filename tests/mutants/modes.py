"""Dropout: on in eval mode, off in train mode, or somewhere else than it should be."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

EVAL = "conformance/test_modes.py::test_eval_mode_is_deterministic"
TRAIN = "conformance/test_modes.py::test_train_mode_drops"

RATE = "rate = self.dropout if self.training else 0.0"
OUTPUT = "        )\n        return self.output_dropout(self.output(merge_heads(y)))"

MUTANTS = (
    Mutant(
        "the fused kernel drops in eval mode",
        ("F01",),
        ("karpathy/nanoGPT#240",),
        (Patch("model.attention", RATE, "rate = self.dropout"),),
        EVAL,
        "overfits",
    ),
    Mutant(
        "the path that is written out drops in eval mode",
        ("F02",),
        ("pytorch/pytorch#124464",),
        (
            Patch(
                "model.attention",
                "F.dropout(weights, self.dropout, self.training)",
                "F.dropout(weights, self.dropout)",
            ),
        ),
        "unit/test_attention.py::test_dropout_is_off_in_eval",
        "overfits",
    ),
    Mutant(
        "the feed-forward drops in eval mode",
        ("F03",),
        ("huggingface/pytorch-image-models#1978",),
        (
            Patch(
                "model.feedforward",
                "self.dropout(self.down(self.activation(self.up(x))))",
                "nn.functional.dropout(self.down(self.activation(self.up(x))), self.dropout.p)",
            ),
        ),
        EVAL,
        "generates",
    ),
    Mutant(
        "what is carried past is dropped in eval mode",
        ("F04",),
        ("meta-pytorch/torchtune#1791",),
        (
            Patch(
                "model.residual",
                "self.dropout(x) + branch",
                "nn.functional.dropout(x, self.dropout.p) + branch",
            ),
        ),
        EVAL,
        "overfits",
    ),
    Mutant(
        "the output of attention is dropped in eval mode",
        ("F05",),
        ("wenet-e2e/wenet#2699",),
        (
            Patch(
                "model.attention",
                OUTPUT,
                "        )\n        return F.dropout(self.output(merge_heads(y)), self.output_dropout.p)",
            ),
        ),
        EVAL,
        "generates",
    ),
    Mutant(
        "the embedding is dropped in eval mode",
        ("F06",),
        ("pytorch/pytorch#26338",),
        (
            Patch(
                "model.transformer",
                "self.dropout(self.position(self.token(ids), places))",
                "F.dropout(self.position(self.token(ids), places), self.dropout.p)",
            ),
        ),
        EVAL,
        "generates",
    ),
    Mutant(
        "a forward switches dropout off for good",
        ("F08",),
        ("shubhamagarwal92/mmd#14",),
        (
            Patch(
                "model.transformer",
                "check_ids(ids, self.config, start)",
                "check_ids(ids, self.eval().config, start)",
            ),
        ),
        TRAIN,
        "overfits",
    ),
    Mutant(
        "the kernel never drops",
        ("F04",),
        ("meta-pytorch/torchtune#1791",),
        (Patch("model.attention", RATE, "rate = 0.0"),),
        "unit/test_attention.py::test_dropout_in_training_drops_or_doubles_a_weight",
        "overfits",
    ),
)
