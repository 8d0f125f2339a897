"""In-place operations and what they do to gradients; batch and time; activations; bounds; one logit."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.masks import CAUSAL
from blockproof.tests.mutants.mutant import Mutant

WHOLE = "unit/test_transformer.py::test_matches_the_reference"
GRADIENTS = "contract/test_contract.py::test_gradients_are_those_of_the_values"
ACTIVATION = "unit/test_feedforward.py::test_matches_the_reference"
BOUNDS = "conformance/test_bounds.py::test_wrong_ids_are_refused_by_name"
LOGITS = "return F.linear(self.norm(x), matrix, self.head_bias)"


def transformer(old: str, new: str) -> tuple[Patch]:
    """A change in the file of the model."""
    return (Patch("model.transformer", old, new),)


def one_logit(place: str) -> Mutant:
    """One logit of one place of one sequence, off by 0.01."""
    lines = (LOGITS.replace("return", "logits ="), f"logits.data[-1, {place}, -1] += 1e-2", "return logits")
    new = "\n        ".join(lines)
    return Mutant(
        f"one logit is off by 0.01, at place {place}", (), (), transformer(LOGITS, new), WHOLE, "overfits"
    )


MUTANTS = (
    Mutant(
        "positions are added in place",
        ("Q01",),
        ("thuanz123/enhancing-transformers#11",),
        (Patch("model.position", "return x + self.table(places)", "return x.add_(self.table(places))"),),
        "unit/test_position.py::test_what_is_given_stays_as_it_is",
        "overfits",
    ),
    Mutant(
        "the residual is added in place",
        ("Q02",),
        ("yaohungt/Multimodal-Transformer#30",),
        (Patch("model.residual", "return self.dropout(x) + branch", "return self.dropout(x).add_(branch)"),),
        GRADIENTS,
        "generates",
    ),
    Mutant(
        "a block adds to its input",
        ("Q03",),
        ("vllm-project/vllm#24500",),
        (
            Patch(
                "model.residual",
                "return self.residual(x, self.sublayer(self.norm(x), *beside))",
                "x += self.sublayer(self.norm(x), *beside)\n        return x",
            ),
        ),
        GRADIENTS,
        "generates",
    ),
    Mutant(
        "half of the gradient is cut off",
        ("J01",),
        ("pytorch/pytorch#59925",),
        (
            Patch(
                "model.feedforward",
                "F.silu(self.gate(x)) * self.up(x)",
                "F.silu(self.gate(x.detach())) * self.up(x)",
            ),
        ),
        GRADIENTS,
        "overfits",
    ),
    Mutant(
        "batch is taken for time",
        ("V05",),
        ("yxlu-0102/MP-SENet#64",),
        transformer(
            "x = self.attention(x, position, past)",
            "x = self.attention(x.transpose(0, 1), position, past).transpose(0, 1)",
        ),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "the tanh form where the exact GELU is meant",
        ("Y01",),
        ("kyutai-labs/pocket-tts#278",),
        (Patch("model.feedforward", "return F.gelu(hidden)", 'return F.gelu(hidden, approximate="tanh")'),),
        ACTIVATION,
        "overfits",
    ),
    Mutant(
        "the exact GELU where the tanh form is meant",
        ("Y02",),
        ("microsoft/onnxruntime#2270",),
        (Patch("model.feedforward", 'return F.gelu(hidden, approximate="tanh")', "return F.gelu(hidden)"),),
        ACTIVATION,
        "overfits",
    ),
    Mutant(
        "an id one above the vocabulary passes",
        ("T01",),
        ("karpathy/nanoGPT#469",),
        transformer("ids.max() >= config.vocab_size", "ids.max() > config.vocab_size"),
        BOUNDS,
        "overfits",
    ),
    Mutant(
        "a sequence one above the context passes",
        ("T02",),
        ("meta-pytorch/gpt-fast#53",),
        transformer(") > config.context:", ") > config.context + 1:"),
        BOUNDS,
        "overfits",
    ),
    Mutant(
        "logits of the last place alone",
        ("S08",),
        ("meta-llama/llama#294",),
        transformer(LOGITS, "return F.linear(self.norm(x[:, -1:]), matrix, self.head_bias)"),
        "contract/test_contract.py::test_logits_of_every_length",
        "none: the shape is enough",
    ),
    one_logit("0"),
    one_logit("ids.shape[1] // 2"),
    one_logit("-1"),
)
