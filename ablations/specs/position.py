"""Positions: learned or none, on text, on a task of order, and on permuted tokens without training."""

from blockproof.ablations.spec import Grid, Spec

HEADS = {"n_heads": 4}

SPEC = Spec(
    name="position",
    title="Positions",
    question="What can a causal model without positions still know about order?",
    prediction="Without positions a model cannot tell order: A B C D and D C B A look the same to it.",
    caption=(
        "Every dot is a seed. Dashed lines are the exact losses of a model that cannot tell order, and of one "
        "that can. In the last panel nothing is trained."
    ),
    limits=(
        "Small models, short windows, one budget: longer training may teach what these runs did not learn. That "
        "one layer cannot tell order holds exactly for any weights; it is shown for random ones, in double precision."
    ),
    grids={
        "text": Grid(
            run="train",
            model={"context": 32, "d_model": 64, "attention": HEADS, "n_layers": 2},
            train={"steps": 300, "batch_size": 16, "lr": 1e-3, "eval_every": 100},
            data={"source": "text", "validation_windows": 256},
            axes={"model.position": ("learned", "none")},
        ),
        "order": Grid(
            run="train",
            model={"context": 5, "d_model": 64, "attention": HEADS},
            train={"steps": 300, "batch_size": 64, "lr": 1e-3, "warmup": 20, "eval_every": 100},
            data={"source": "order", "symbols": 4},
            axes={"data.asked": (1, 4), "model.n_layers": (1, 2), "model.position": ("learned", "none")},
        ),
        "permutation": Grid(
            run="permutation",
            model={"vocab_size": 4, "context": 4, "d_model": 64, "attention": HEADS, "init": "torch"},
            axes={"model.n_layers": (1, 2, 3), "model.position": ("learned", "none")},
        ),
    },
)
