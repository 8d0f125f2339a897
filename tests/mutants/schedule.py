"""The learning rate: its first update, its joins, what an update is, and what becomes of it on a resume."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

WARMUP = "unit/test_schedule.py::test_warm_up_is_linear_and_reaches_the_rate"
UPDATES = "unit/test_trainer.py::test_the_rate_follows_updates_not_parts"
FALLS = "training_lowers_the_loss"

RATE = "learning_rate(step, lr=config.lr, steps=config.steps,"


def schedule(old: str, new: str) -> tuple[Patch]:
    """A change in the file of schedules."""
    return (Patch("model.schedule", old, new),)


def rated(new: str) -> tuple[Patch]:
    """Another rate asked for by an update."""
    return (Patch("model.trainer", RATE, new),)


MUTANTS = (
    Mutant(
        "the first update of a warm-up is at rate 0",
        ("L01",), ("karpathy/nanoGPT#443",), schedule("lr * (step + 1) / warmup", "lr * step / warmup"),
        WARMUP, FALLS,
    ),
    Mutant(
        "the rate jumps above its highest where the warm-up ends",
        ("L01",), ("EleutherAI/gpt-neox#1373",), schedule("if step < warmup:", "if step <= warmup and warmup:"),
        WARMUP, FALLS,
    ),
    Mutant(
        "the schedule has moved on while it was warming up",
        ("L01",), ("verl-project/verl#3674",), schedule("(step - warmup) / max(1, steps - warmup)", "step / steps"),
        "unit/test_schedule.py::test_cosine_falls_to_a_tenth", FALLS,
    ),
    Mutant(
        "the schedule moves on with every part",
        ("L02",), ("starVLA/starVLA#210",), rated(RATE.replace("(step,", "(step * len(batch.inputs.split(size)),")),
        UPDATES, FALLS,
    ),
    Mutant(
        "an incomplete last part is left out",
        ("L03",), ("EvolvingLMMs-Lab/OneVision-Encoder#82",),
        (
            Patch(
                "model.trainer",
                "        loss = labels",
                "        if len(inputs) < size:\n            continue\n        loss = labels",
            ),
        ),
        "unit/test_trainer.py::test_every_window_of_a_batch_is_used", FALLS,
    ),
    Mutant(
        "the schedule starts again on a resume",
        ("L04",), ("stanford-oval/genienlp#69",),
        (
            Patch("model.trainer", "self.step = step\n", "self.step = step\n        self.began = step\n"),
            Patch(
                "model.trainer",
                "self.batch, self.step, self.config)",
                'self.batch, self.step - getattr(self, "began", 0), self.config)',
            ),
        ),
        "unit/test_trainer.py::test_a_run_that_stopped_goes_on_to_the_bit", FALLS,
    ),
    Mutant(
        "the horizon counts parts, not updates",
        ("L05",), ("sgl-project/SpecForge#364",),
        rated(RATE.replace("steps=config.steps", "steps=config.steps * len(batch.inputs.split(size))")),
        UPDATES, FALLS,
    ),
    Mutant(
        "the schedule never ends at its lowest",
        (), (), schedule("math.cos(math.pi * progress)", "math.cos(math.pi * progress / 2)"),
        "unit/test_schedule.py::test_cosine_falls_to_a_tenth", FALLS,
    ),
    Mutant(
        "the noam schedule counts updates from 0",
        (), (), schedule("math.sqrt(warmup / (step + 1))", "math.sqrt(warmup / max(1, step))"),
        "unit/test_schedule.py::test_noam_is_the_published_formula", FALLS,
    ),
    Mutant(
        "the optimizer keeps the rate it began with",
        (), (), (Patch("model.trainer", 'group["lr"] = point.lr', "pass"),),
        "unit/test_train.py::test_second_step_by_hand", FALLS,
    ),
    Mutant(
        "the rate that is told is not the one that is used",
        (), (), (Patch("model.trainer", 'group["lr"] = point.lr', 'group["lr"] = point.lr / 2'),),
        "unit/test_train.py::test_one_step_by_hand", FALLS,
    ),
)  # fmt: skip
