"""One update: which parameters decay and how, accumulation, clipping, zeroing, and when a run must stop."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

DECAY = "unit/test_optimizer.py::test_decay_is_for_matrices"
HAND = "unit/test_train.py::test_one_step_by_hand"
PARTS = "unit/test_trainer.py::test_accumulated_gradients_are_those_of_the_whole_batch"
CLIPPED = "unit/test_trainer.py::test_clipping_is_of_the_sum_of_the_parts"
FALLS = "training_lowers_the_loss"

OWNERS = "{id(module.weight) for module in model.modules() if isinstance(module, DECAYED)}"
MEAN = 'labels.cross_entropy(model(inputs), targets, reduction="sum") / asked'
NORM = "norm = torch.tensor(point.grad_norm)"
CLIP = "nn.utils.clip_grads_with_norm_(model.parameters(), config.clip, norm)"
FINITE = "not (isfinite(point.loss) and isfinite(point.grad_norm))"


def decayed(matrices: str) -> tuple[Patch]:
    """Another choice of what decays."""
    return (Patch("model.optimizer", OWNERS, matrices),)


def trainer(old: str, new: str) -> tuple[Patch]:
    """A change in the file of the update."""
    return (Patch("model.trainer", old, new),)


MUTANTS = (
    Mutant(
        "what does not decay is found by another library's names",
        ("J02",), ("karpathy/minGPT#23",),
        decayed(
            '{id(p) for name, p in model.named_parameters() if "ln_" not in name and not name.endswith("bias")}',
        ),
        DECAY, FALLS,
    ),
    Mutant(
        "norms and biases decay as well",
        ("J03",), ("ServiceNow/Fast-LLM#545",),
        (Patch("model.optimizer", '"weight_decay": 0.0', '"weight_decay": config.weight_decay'),),
        "unit/test_optimizer.py::test_without_gradients_only_decay_moves", FALLS,
    ),
    Mutant(
        "one group for all parameters",
        ("J04",), ("Lightning-AI/lit-llama#254",), decayed("{id(p) for p in model.parameters()}"), DECAY, FALLS,
    ),
    Mutant(
        "every tensor of two axes decays",
        ("J04",), ("oumi-ai/oumi#341",), decayed("{id(p) for p in model.parameters() if p.ndim > 1}"),
        "unit/test_optimizer.py::test_the_kind_of_module_decides_not_the_shape", FALLS,
    ),
    Mutant(
        "the optimizer holds the parameters of before a move",
        ("J05",), ("huggingface/transformers#4450",),
        trainer("make_optimizer(model, config)", 'make_optimizer(__import__("copy").deepcopy(model), config)'),
        HAND, "none: a step that changes nothing shows only where weights are compared",
    ),
    Mutant(
        "the weight decays after its update",
        ("J06",), ("kyleliang919/C-Optim#3",),
        trainer(
            "    optimizer.step()",
            '    decays = [group["weight_decay"] for group in optimizer.param_groups]\n'
            "    for group in optimizer.param_groups:\n"
            '        group["weight_decay"] = 0.0\n'
            "    optimizer.step()\n"
            "    for group, decay in zip(optimizer.param_groups, decays, strict=True):\n"
            '        group["weight_decay"] = decay\n'
            '        for p in group["params"]:\n'
            "            p.data.mul_(1 - point.lr * decay)",
        ),
        "unit/test_train.py::test_second_step_by_hand", FALLS,
    ),
    Mutant(
        "epsilon is scaled by the bias correction",
        ("J07",), ("aiqm/torchani#261",),
        trainer(
            'group["lr"] = point.lr',
            'group["lr"], group["eps"] = point.lr, config.eps / (1 - config.beta2 ** (point.step + 1)) ** 0.5',
        ),
        "unit/test_train.py::test_second_step_by_hand", FALLS,
    ),
    Mutant(
        "decay is mixed into the gradient",
        ("J08",), ("nntrainer/nntrainer#3565",),
        (Patch("model.optimizer", "return AdamW(", 'return __import__("torch").optim.Adam('),),
        "unit/test_train.py::test_second_step_by_hand", FALLS,
    ),
    Mutant(
        "the betas of the config do not arrive",
        (), (), (Patch("model.optimizer", "betas=(config.beta1, config.beta2)", "betas=(0.9, 0.999)"),),
        "unit/test_optimizer.py::test_hyperparameters_arrive", FALLS,
    ),
    Mutant(
        "the loss is not divided by the number of parts",
        ("K01",), ("karpathy/nanoGPT#206",), trainer(MEAN, "labels.cross_entropy(model(inputs), targets)"),
        PARTS, FALLS,
    ),
    Mutant(
        "the loss that is told is that of the last part",
        ("K01",), ("agokrani/distillKitPlus#5",), trainer("total += loss.item()", "total = loss.item()"),
        PARTS, FALLS,
    ),
    Mutant(
        "a mean of means weighs short parts like long ones",
        ("K03",), ("huggingface/transformers#34191",),
        trainer(MEAN, "labels.cross_entropy(model(inputs), targets) / len(batch.inputs.split(size))"),
        PARTS, FALLS,
    ),
    Mutant(
        "parts are weighed by windows, not by targets",
        ("K04",), ("ml-explore/mlx-lm#1413",),
        trainer(MEAN, "labels.cross_entropy(model(inputs), targets) * len(inputs) / len(batch.inputs)"),
        PARTS, FALLS,
    ),
    Mutant(
        "the loss is normalised twice",
        ("K05",), ("unslothai/unsloth-zoo#1023",), trainer(MEAN, f"{MEAN} / len(batch.inputs.split(size))"),
        PARTS, FALLS,
    ),
    Mutant(
        "gradients are zeroed at every part",
        ("K06",), ("bytetriper/RAE#67",),
        trainer("        loss.backward()", "        model.zero_grad(set_to_none=True)\n        loss.backward()"),
        PARTS, FALLS,
    ),
    Mutant(
        "gradients are never zeroed",
        ("K07",), ("tenstorrent/tt-blacksmith#711",), trainer("model.zero_grad(set_to_none=True)", "pass"),
        "unit/test_train.py::test_backward_leaves_fresh_gradients", FALLS,
    ),
    Mutant(
        "gradients are clipped before they are unscaled",
        ("K08",), ("pytorch/examples#1196",),
        trainer(
            f"{NORM}\n    {CLIP}",
            f"{NORM} * 1024\n    for p in model.parameters():\n        p.grad.mul_(1024)\n"
            f"    {CLIP}\n    for p in model.parameters():\n        p.grad.div_(1024)",
        ),
        CLIPPED, FALLS,
    ),
    Mutant(
        "clipping takes gradients for still scaled",
        ("K09",), ("NVIDIA/apex#1512",), trainer(NORM, f"{NORM} * 1024"), CLIPPED, FALLS,
    ),
    Mutant(
        "every part is clipped",
        ("K10",), ("huggingface/accelerate#641",),
        trainer(
            "        loss.backward()",
            "        loss.backward()\n        nn.utils.clip_grad_norm_(model.parameters(), config.clip)",
        ),
        PARTS, FALLS,
    ),
    Mutant(
        "the count of targets is taken off one term of the loss alone",
        ("K11",), ("OpenNMT/OpenNMT-py#2209",),
        trainer(MEAN, f"{MEAN} + 0.01 * sum(p.square().sum() for p in model.parameters())"),
        PARTS, FALLS,
    ),
    Mutant(
        "gradients are not clipped",
        (), (), trainer(f"    {CLIP}\n", ""), HAND, FALLS,
    ),
    Mutant(
        "each gradient is clipped by itself",
        (), (), trainer(CLIP, "[nn.utils.clip_grad_norm_(p, config.clip) for p in model.parameters()]"),
        HAND, FALLS,
    ),
    Mutant(
        "a NaN loss is trained on",
        ("V01",), ("karpathy/nanoGPT#167",), (Patch("model.train", f"or {FINITE}", "or False"),),
        "unit/test_divergence.py::test_divergence_is_a_result", FALLS,
    ),
    Mutant(
        "a NaN gradient is trained on",
        ("V01",), ("karpathy/nanoGPT#383",), (Patch("model.train", FINITE, "not isfinite(point.loss)"),),
        "unit/test_divergence.py::test_a_gradient_alone_can_diverge", FALLS,
    ),
    Mutant(
        "a NaN validation loss is trained on",
        ("V01",), ("karpathy/nanoGPT#215",), (Patch("model.train", "history.diverged_at == step or", ""),),
        "unit/test_divergence.py::test_validation_alone_can_diverge", FALLS,
    ),
    Mutant(
        "a session trains on after a NaN",
        ("V01",), ("huggingface/transformers#27212",),
        (Patch("model.session", "if isfinite(point.loss) and isfinite(point.grad_norm):", "if True:"),),
        "unit/running/test_session.py::test_divergence_names_its_update_and_place", FALLS,
    ),
    Mutant(
        "only the first layer that is not finite upwards is named",
        (), (),
        (Patch("model.monitor", "in reversed(gradient_norms(model).items())", "in gradient_norms(model).items()"),),
        "unit/running/test_first_not_finite.py::test_a_gradient_is_named_nearest_to_the_loss",
        "none: nobody looks where NaN begins",
    ),
)  # fmt: skip
