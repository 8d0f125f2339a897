"""What a bug looks like: one small model on text, trained by sound code and with one classic fault at a time."""

from blockproof.ablations.faults import FAULTS
from blockproof.ablations.spec import Grid, Spec

SPEC = Spec(
    name="gallery",
    title="What a bug looks like",
    question="How many classic faults does a falling loss hide, and what shows each of them first?",
    prediction="A loss that falls as it should shows that a model is sound.",
    caption=(
        "Lines are validation losses as the code with the fault reports them: means over seeds, bands their range. "
        "The diamond, or the arrow where it stands above the panel, is the honest loss of what was trained: every token is "
        "predicted from those before it and nothing else, by code that has no fault in its shift, its loss or its score. In the table, "
        "*beside it* compares the reported loss with that of sound code; *off from update* names the first logged batch "
        "whose loss or gradient norm clearly is another."
    ),
    limits=(
        "One small model, one text, one learning rate, a few hundred updates. What does no harm here may do some elsewhere: "
        "a wrong scale is off by more with more heads, a mode that is ignored costs more with more dropout. The sound run "
        "shares weights and batches with each faulty one, which nobody has who looks for a fault. Many updates are looked "
        "at, so that a small difference may pass for one by chance."
    ),
    grids={
        "faults": Grid(
            run="honest",
            model={
                "context": 32,
                "d_model": 64,
                "n_layers": 2,
                "attention": {"n_heads": 4, "dropout": 0.2},
            },
            train={"steps": 300, "batch_size": 16, "lr": 3e-3, "eval_every": 50},
            data={"source": "text", "validation_windows": 256},
            axes={"fault": tuple(FAULTS)},
        ),
    },
)
