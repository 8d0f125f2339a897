"""The loss on held-out data: how it is averaged, in which mode, and what it must leave alone."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

ALIKE = "unit/test_evaluate.py::test_weighs_every_target_alike"
UNTOUCHED = "unit/test_evaluate.py::test_leaves_everything_as_it_was"
UNIFORM = "unit/test_evaluate.py::test_perplexity_of_a_model_that_knows_nothing_is_the_vocabulary"
FINITE = "evaluation_is_finite"

HEAD = "total, device = 0.0, next(model.parameters()).device"
ADD = 'total += labels.cross_entropy(logits, targets.to(device), reduction="sum").double().item()'
COUNT = "return total / int((batch.targets != IGNORE).sum())"
LOOP = f"""{ADD}
    {COUNT}"""
MODE = """with evaluating(model):
        for inputs"""
BACK = """try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode"""


def evaluate(old: str, new: str) -> tuple[Patch]:
    """A change in the file of the evaluation."""
    return (Patch("model.evaluate", old, new),)


MUTANTS = (
    Mutant(
        "a mean of batch means",
        ("N01",), ("huggingface/transformers#41898",),
        evaluate(
            LOOP,
            "total += labels.cross_entropy(logits, targets.to(device)).item()\n"
            "    return total / len(batch.inputs.split(rows))",
        ),
        ALIKE, FINITE,
    ),
    Mutant(
        "a mean of the perplexities of batches",
        ("N02", "N03"), ("alexiglad/EBT#3", "magenta/magenta#239"),
        evaluate(
            LOOP,
            "total += labels.cross_entropy(logits, targets.to(device)).exp().item()\n"
            "    return math.log(total / len(batch.inputs.split(rows)))",
        ),
        ALIKE, FINITE,
    ),
    Mutant(
        "perplexity is the root of the loss",
        ("N04",), ("SocialComplexityLab/life2vec#8",),
        evaluate("return math.exp(loss) if", "return math.sqrt(loss) if"),
        UNIFORM, FINITE,
    ),
    Mutant(
        "perplexity is a power of 2 while the loss is in nats",
        ("N04",), ("SocialComplexityLab/life2vec#8",), evaluate("return math.exp(loss) if", "return 2**loss if"),
        UNIFORM, FINITE,
    ),
    Mutant(
        "the loss holds a regulariser",
        ("N05",), ("ysmiao/nvdm#8",),
        evaluate(COUNT, f"{COUNT} + 1e-3 * sum(p.square().sum().item() for p in model.parameters())"),
        ALIKE, FINITE,
    ),
    Mutant(
        "evaluation trains",
        ("N06",), ("princeton-vl/pose-ae-train#11",),
        evaluate(
            "        logits = model(inputs.to(device))\n",
            "        logits = model(inputs.to(device))\n"
            "            with torch.enable_grad():\n"
            "                grads = torch.autograd.grad(labels.cross_entropy(model(inputs), targets), "
            "list(model.parameters()))\n"
            "            for p, g in zip(model.parameters(), grads):\n"
            "                p.data.sub_(g, alpha=1e-3)\n",
        ),
        UNTOUCHED, FINITE,
    ),
    Mutant(
        "validation counts other targets than training",
        ("N07",), ("pytorch/torchtitan#3257",),
        evaluate("int((batch.targets != IGNORE).sum())", "batch.targets.numel()"),
        ALIKE, FINITE,
    ),
    Mutant(
        "evaluation reseeds the training's generator",
        ("N08",), ("ai2cm/ace#1170",), evaluate(HEAD, f"{HEAD}\n    torch.manual_seed(0)"), UNTOUCHED, FINITE,
    ),
    Mutant(
        "evaluation draws from the training's generator",
        ("N08",), ("karpathy/char-rnn#17",), evaluate(HEAD, f"{HEAD}\n    torch.rand(1)"), UNTOUCHED, FINITE,
    ),
    Mutant(
        "a subset is drawn without a seed",
        ("N09",), ("kaiko-ai/eva#906",),
        evaluate(
            HEAD,
            f"{HEAD}\n    with torch.random.fork_rng():\n        torch.seed()\n"
            "        some = torch.randint(len(batch.inputs), (len(batch.inputs),))\n"
            "    batch = Batch(batch.inputs[some], batch.targets[some])",
        ),
        ALIKE, FINITE,
    ),
    Mutant(
        "losses are weighed by the axis of time",
        ("N10",), ("fastai/fastai#533",),
        evaluate(
            LOOP,
            "total += labels.cross_entropy(logits, targets.to(device)).item() * targets.shape[1]\n"
            "    return total / (batch.targets.shape[1] * len(batch.inputs.split(rows)))",
        ),
        ALIKE, FINITE,
    ),
    Mutant(
        "a second softmax in validation alone",
        ("D08",), ("ariecattan/SciCo#2",),
        evaluate("cross_entropy(logits, targets.to", "cross_entropy(logits.softmax(dim=-1), targets.to"),
        ALIKE, FINITE,
    ),
    Mutant(
        "ignored targets of padding count as losses of 0",
        ("D10",), ("FlagAI-Open/FlagAI#522",), evaluate(COUNT, "return total / max(1, batch.inputs.numel())"),
        ALIKE, FINITE,
    ),
    Mutant(
        "no gradients is taken for eval mode",
        ("F07",), ("ipolharvard/ethos-ares#20",),
        evaluate(MODE, MODE.replace("evaluating(model)", "torch.no_grad()")),
        "unit/test_evaluate.py::test_dropout_is_off", FINITE,
    ),
    Mutant(
        "training goes on in eval mode after an evaluation",
        ("F08",), ("tk-rusch/coRNN#1",), evaluate("module.training = mode", "pass"), UNTOUCHED, FINITE,
    ),
    Mutant(
        "the mode does not come back after an error",
        ("F08",), ("pytorch/tutorials#1624",),
        evaluate(BACK, "yield\n    for module, mode in modes:\n        module.training = mode"),
        "unit/test_evaluate.py::test_the_mode_comes_back_after_an_error", FINITE,
    ),
    Mutant(
        "every part is put into train mode after an evaluation",
        ("F08",), ("shubhamagarwal92/mmd#14",),
        evaluate(BACK, "try:\n        yield\n    finally:\n        model.train(modes[0][1])"),
        "unit/test_evaluate.py::test_every_module_gets_its_own_mode_back", FINITE,
    ),
    Mutant(
        "generation leaves the model in eval mode",
        ("F09",), ("rohitg00/ai-engineering-from-scratch#206",),
        (Patch("model.generate", "with evaluating(model):", "with torch.no_grad():\n        model.eval()"),),
        "unit/test_generate_rules.py::test_leaves_no_trace", "none: what was generated is right",
    ),
    Mutant(
        "samples are drawn in train mode",
        ("F10",), ("karpathy/nanoGPT#749",),
        (Patch("model.generate", "with evaluating(model):", "with torch.no_grad():"),),
        "unit/test_generate_rules.py::test_leaves_no_trace", "none: without dropout it is the same",
    ),
    Mutant(
        "a text without a target is scored as 0",
        ("N11",), ("huggingface/datasets#4108",),
        evaluate("int((batch.targets != IGNORE).sum())", "max(1, int((batch.targets != IGNORE).sum()))"),
        "unit/test_evaluate.py::test_no_target_gives_no_loss", FINITE,
    ),
)  # fmt: skip
