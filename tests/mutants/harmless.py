"""What was reported of training loops and is no bug: no test may turn red."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant
from blockproof.tests.mutants.training import MEAN

RIGHT = "none: it is right"
BY_HAND = """\
    decays = [group["weight_decay"] for group in optimizer.param_groups]
    for group, decay in zip(optimizer.param_groups, decays, strict=True):
        group["weight_decay"] = 0.0
        for p in group["params"]:
            p.data.mul_(1 - point.lr * decay)
    optimizer.step()
    for group, decay in zip(optimizer.param_groups, decays, strict=True):
        group["weight_decay"] = decay"""

MUTANTS = (
    Mutant(
        "every part is divided by one constant",
        ("Z07",), ("karpathy/nanoGPT#605",),
        (Patch("model.trainer", MEAN, MEAN.replace("/ asked", "* (1.0 / asked.item())")),),
        "unit/test_trainer.py", RIGHT,
        equivalent="the divisor is that of the whole batch, in whichever way it is divided",
    ),
    Mutant(
        "decay is multiplied by the rate, beside the optimizer",
        ("Z15",), ("NVIDIA/apex#1849",), (Patch("model.trainer", "    optimizer.step()", BY_HAND),),
        "unit/test_train.py", RIGHT,
        equivalent="this is how torch's AdamW decays",
    ),
    Mutant(
        "logits[:-1] against labels[1:]",
        ("Z16",), ("huggingface/trl#1172",),
        (Patch("model.labels", "Batch(tokens[:, :-1],", "Batch(tokens.narrow(1, 0, targets.shape[1]),"),),
        "unit/test_labels.py", RIGHT,
        equivalent="the same tokens, cut in another way",
    ),
)  # fmt: skip
