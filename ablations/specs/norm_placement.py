"""Norm placement: pre- and post-norm over a grid of learning rates, with and without warm-up."""

from blockproof.ablations.spec import Grid, Spec

MODEL = {"context": 32, "d_model": 64, "n_layers": 12, "attention": {"n_heads": 4}, "init": "gpt2"}
TRAIN = {"steps": 160, "batch_size": 8, "eval_every": 80}
DATA = {"source": "text", "validation_windows": 256}

SPEC = Spec(
    name="norm_placement",
    title="Norm placement",
    question=(
        "At which learning rates does a deep stack train with pre-norm and with post-norm, and does warm-up help?"
    ),
    prediction="At 12 layers and 3e-4 post-norm needs warm-up and pre-norm does not; pre-norm is better.",
    caption=(
        "Large dots are means over seeds, small ones the seeds, bands their whole range. A run that diverged stands at "
        "its loss at init. At the lowest rates a run can stand above the dashed line because it has not learnt yet."
    ),
    limits=(
        "One width, one text, one budget, GPT-2's init: the rate at which post-norm breaks may move with the init too. "
        "Both placements keep the final norm, so that their parameters and their first weights are the same; "
        "behind post-norm it changes little. Sensitivity is measured from each variant's own best rate: one that is poor "
        "at every rate looks insensitive."
    ),
    grids={
        "tied": Grid(
            run="train",
            model=MODEL,
            train=TRAIN,
            data=DATA,
            axes={
                "model.norm.placement": ("pre", "post"),
                "train.warmup": (0, 50),
                "train.lr": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
            },
        ),
        # does it belong to the placement where post-norm breaks, or to what surrounds it?
        "untied": Grid(
            run="train",
            model={**MODEL, "tied": False},
            train=TRAIN,
            data=DATA,
            axes={"model.norm.placement": ("pre", "post"), "train.lr": (3e-4, 1e-3, 3e-3, 1e-2)},
        ),
    },
)
