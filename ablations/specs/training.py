"""Training to the end, by a recipe that a person would use; and what training costs by size."""

from blockproof.ablations.spec import Grid, Spec
from blockproof.model.recipe import read

TOY = read("toy")

SPEC = Spec(
    name="training",
    title="Training and generation",
    question="Does the toy GPT learn to write its corpus, and does the time of training follow the count of operations?",
    prediction=(
        "A toy GPT of six layers of width 32, with windows of 8 characters, learns a corpus of characters in 5000 updates. "
        "Six operations a parameter and token tell what training costs."
    ),
    caption=(
        "Left: the toy's losses, a line a seed, and what a model that sees no context ends at. Right: time of a "
        "training token, that of the whole run shared out, against the matrix products that it takes, each relative to the smallest model's; on the dashed "
        "line both grow alike."
    ),
    limits=(
        "The toy sees few characters at a time, so it can spell words but not sentences. Times are of one core that may have had other "
        "work, at sizes where a kernel's fixed cost is not small."
    ),
    grids={
        "toy": Grid(
            run="sampled",
            model=TOY["model"],
            train=TOY["train"],
            data={**TOY["data"], "validation_windows": 2048},
            axes={},
        ),
        "cost": Grid(
            run="train",
            model={"context": 64, "attention": {"n_heads": 4}},
            train={"steps": 200, "batch_size": 8, "lr": 1e-3, "log_every": 50, "eval_every": 200},
            data={"source": "markov", "symbols": 32, "order": 1, "validation_windows": 16},
            axes={"model.d_model": (32, 64, 128, 256), "model.n_layers": (2, 4)},
        ),
    },
)
