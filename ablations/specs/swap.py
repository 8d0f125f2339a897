"""Swapped parts: one small model on text, with one part at a time exchanged for another of its kind."""

from blockproof.ablations.spec import Grid, Spec

MODEL = {"context": 32, "d_model": 64, "n_layers": 2, "attention": {"n_heads": 4}}
TRAIN = {"steps": 300, "batch_size": 16, "eval_every": 100}
DATA = {"source": "text", "validation_windows": 256}
RATES = (1e-3, 3e-3)


def swapped(path: str, kinds: tuple[object, ...]) -> Grid:
    """The shared model with each of these in one place."""
    return Grid(run="train", model=MODEL, train=TRAIN, data=DATA, axes={path: kinds, "train.lr": RATES})


SPEC = Spec(
    name="swap",
    title="Swapped parts",
    question="Does it matter which norm, position, number of heads or feed-forward is chosen, at equal width and budget?",
    prediction=(
        "RMSNorm does what LayerNorm does; learned positions do as well as sinusoidal ones; the number of heads is a "
        "knob of capacity; SwiGLU beats GELU at equal size."
    ),
    caption=(
        "What each swap changes in the final loss, against the model as it is, each at the better of two learning rates. "
        "Dots are seeds, bars intervals; right of the line is worse."
    ),
    limits=(
        "Two narrow layers, one text, a few hundred updates, short windows: differences that need depth, length or time "
        "do not show. Two learning rates, of which the best is often the highest run; GPT-2's small init may hold back a "
        "gated feed-forward, whose branches are multiplied. Sinusoidal positions come with an embedding that is scaled up, as in their paper."
    ),
    grids={
        "norm": swapped("model.norm.kind", ("layernorm", "rmsnorm")),
        "position": swapped("model.position", ("learned", "sinusoidal", "rope", "alibi", "t5")),
        "heads": swapped("model.attention.n_heads", (1, 2, 4, 8, 16)),
        "feed-forward": swapped("model.feedforward.kind", ("gelu", "relu", "silu", "swiglu")),
    },
)
