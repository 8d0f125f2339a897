"""Residual connections: with and without, shallow and deep."""

from blockproof.ablations.spec import Grid, Spec

SPEC = Spec(
    name="residual",
    title="Residual connections",
    question="What do residual connections buy in a shallow and in a deep stack?",
    prediction="Without residuals deep stacks are hard to train, because the gradient vanishes.",
    caption=(
        "Lines are means over seeds, bands their whole range, each variant at its best learning rate. "
        "Below, the deeper stack before its first update, layer by layer: emb. is the token table, which also is the "
        "head; norm is the final one."
    ),
    limits=(
        "One width, one text, one budget, pre-norm, torch's default init: GPT-2's smaller weights would push a "
        "stack without residuals into LayerNorm's eps. Longer training or a special init may rescue it."
    ),
    grids={
        "text": Grid(
            run="train",
            model={"context": 32, "d_model": 64, "attention": {"n_heads": 4}, "init": "torch"},
            train={"steps": 300, "batch_size": 8, "eval_every": 100},
            data={"source": "text", "validation_windows": 256},
            axes={
                "model.n_layers": (2, 8),
                "model.residual.kind": ("add", "none"),
                "train.lr": (3e-4, 1e-3, 3e-3),
            },
        ),
    },
)
