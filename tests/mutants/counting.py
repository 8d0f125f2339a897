"""Speed, memory and operations: what is looked up instead of measured, counted twice, or left out."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

HAND = "unit/running/test_throughput.py::test_utilisation_by_hand"
ALIVE = "unit/running/test_throughput.py::test_memory_of_what_is_alive_at_once"
MEMORY = "unit/test_count.py::test_memory_by_hand"
PLAUSIBLE = "none: the number looks plausible"


def throughput(old: str, new: str) -> tuple[Patch]:
    """A change in the file of speed and memory."""
    return (Patch("model.throughput", old, new),)


def count(old: str, new: str) -> tuple[Patch]:
    """A change in the file of counts."""
    return (Patch("model.count", old, new),)


MUTANTS = (
    Mutant(
        "one card's peak is taken for every machine's",
        ("U03",), ("karpathy/nanoGPT#464",), throughput("self.rate = matmul_rate(device)", "self.rate = 312e12"),
        HAND, PLAUSIBLE,
    ),
    Mutant(
        "a multiplication and an addition are one operation of the machine",
        ("U03",), ("karpathy/nanochat#147",), throughput("2 * SIDE**3 / best", "SIDE**3 / best"),
        "unit/running/test_throughput.py::test_the_rate_is_of_the_fastest_product", PLAUSIBLE,
    ),
    Mutant(
        "utilisation counts the tokens of one part",
        ("U04",), ("karpathy/nanoGPT#619",),
        (
            Patch(
                "model.session",
                "size = self.recipe.train.batch_size *",
                "size = (self.recipe.train.micro_batch or self.recipe.train.batch_size) *",
            ),
        ),
        "unit/running/test_throughput.py::test_an_update_is_all_its_parts", PLAUSIBLE,
    ),
    Mutant(
        "utilisation counts each token for all that were seen",
        ("U05",), ("huggingface/blog#1649",),
        throughput(
            "self.tokens, self.seconds = 0, 0.0\n        return speed",
            "self.seconds = 1e-9\n        return speed",
        ),
        "unit/running/test_throughput.py::test_a_look_begins_anew", PLAUSIBLE,
    ),
    Mutant(
        "time that was looked into counts as training",
        (), (), throughput("now - self._since, now", "now - self._since, self._since"),
        "unit/running/test_throughput.py::test_what_is_skipped_costs_nothing", PLAUSIBLE,
    ),
    Mutant(
        "utilisation is of the forward pass alone",
        ("U02",), ("pytorch/torchtitan#3225",),
        throughput("cost(count(config)).training", "cost(count(config)).forward"),
        HAND, PLAUSIBLE,
    ),
    Mutant(
        "memory that was freed still counts",
        (), (), throughput("self._alive -= size", "pass"), ALIVE, PLAUSIBLE,
    ),
    Mutant(
        "memory is what is alive at the end",
        (), (), throughput("self.peak = max(self.peak, self._alive)", "self.peak = self._alive"), ALIVE, PLAUSIBLE,
    ),
    Mutant(
        "what is only read does not count",
        (), (), throughput("tree_leaves((args, kwargs, made))", "tree_leaves(made)"), ALIVE, PLAUSIBLE,
    ),
    Mutant(
        "a backward pass costs as much as a forward pass",
        (), (), count("3 * forward", "2 * forward"),
        "unit/test_count.py::test_training_takes_three_forward_passes", "parameter_count",
    ),
    Mutant(
        "scores are left out of the operations",
        ("U02",), ("pytorch/torchtitan#3225",),
        count("forward = 2 * (matrices + mixing)", "forward = 2 * matrices"),
        "unit/test_count.py::test_operations_of_every_variant", "parameter_count",
    ),
    Mutant(
        "the cache counts every head of queries",
        ("U01",), ("datawhalechina/happy-llm#88",),
        count("2 * layers * config.d_kv *", "2 * layers * config.d_model *"),
        MEMORY, "parameter_count",
    ),
    Mutant(
        "the moments of AdamW take no memory",
        (), (), count("16 * counted.total", "8 * counted.total"), MEMORY, "parameter_count",
    ),
    Mutant(
        "a tied head is counted twice",
        ("U01",), ("karpathy/nanoGPT#209",),
        count(
            "return sum(self.parts.values())",
            "return sum(self.parts.values()) + self.config.tied * self.config.vocab_size * self.config.d_model",
        ),
        "unit/test_count.py::test_equals_a_built_model", "parameter_count",
    ),
)  # fmt: skip
