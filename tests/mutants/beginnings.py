"""Initialisation: scales that are missing, never reached, or far too large."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

START = "conformance/test_start.py::test_loss_starts_near_that_of_a_guess"
SPREADS = "unit/test_init.py::test_gpt2_spreads"
BOUND = "bound = 1 / math.sqrt(module.weight.shape[1])"
DRAWN = "INITS[config.init](module, config, Generator().manual_seed(int.from_bytes(digest[:7])))"


def init(old: str, new: str) -> tuple[Patch]:
    """A change in the file of inits."""
    return (Patch("model.init", old, new),)


MUTANTS = (
    Mutant(
        "projections are scaled by a name that none has",
        ("O01",),
        ("huggingface/transformers#47458",),
        init(
            "math.sqrt(2 * config.n_layers) if isinstance(module, OutputProjection)",
            'math.sqrt(2 * config.n_layers) if "c_proj" in type(module).__name__',
        ),
        SPREADS,
        "overfits",
    ),
    Mutant(
        "projections are not scaled",
        ("O02",),
        ("stanford-crfm/mistral#30",),
        init("1 / math.sqrt(2 * config.n_layers) if", "1.0 if"),
        SPREADS,
        "overfits",
    ),
    Mutant(
        "projections are scaled by half the additions",
        ("O02",),
        ("stanford-crfm/mistral#30",),
        init("2 * config.n_layers", "config.n_layers"),
        SPREADS,
        "overfits",
    ),
    Mutant(
        "the embedding has variance 1",
        ("O03",),
        ("syncdoth/RetNet#31",),
        init(BOUND, f"{BOUND} if isinstance(module, nn.Linear) else 3 ** 0.5"),
        START,
        "overfits",
    ),
    Mutant(
        "the head has variance 1",
        ("O04",),
        ("huggingface/transformers#26441",),
        init(
            BOUND,
            f"{BOUND} if module.out_features != config.vocab_size else 3 ** 0.5".replace(
                "module.out_features", 'getattr(module, "out_features", 0)'
            ),
        ),
        START,
        "overfits",
    ),
    Mutant(
        "all positions start as 0",
        ("O05",),
        ("karpathy/minGPT#62",),
        init(
            DRAWN,
            f'{DRAWN}\n            if name == "position": module.table.weight.data.zero_()'.replace(
                'name == "position": module.table', 'name == "position.table": module'
            ),
        ),
        SPREADS,
        "overfits",
    ),
    Mutant(
        "positions start half as large",
        ("O06",),
        ("karpathy/build-nanogpt#18",),
        init(DRAWN, f'{DRAWN}\n            if name == "position.table": module.weight.data.div_(2)'),
        SPREADS,
        "overfits",
    ),
)
