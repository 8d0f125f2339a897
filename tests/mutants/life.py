"""Tying, registration and state: what is one tensor and what is part of the model, through its whole life."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

TYING = "conformance/test_tying.py::test_head_and_embedding_are_one_or_two"
REGISTERED = "conformance/test_start.py::test_everything_is_registered"

HEAD = "self.head = None if config.tied else nn.Linear(config.d_model, config.vocab_size, bias=False)"
ALWAYS = "self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)"
LAST = "initialise(self, config, seed)"


def headed(after: str, last: str = LAST) -> tuple[Patch, ...]:
    """Always a head of its own, and a line after the init that is to tie it."""
    return (
        Patch("model.transformer", HEAD, ALWAYS),
        Patch("model.transformer", LAST, f"{last}\n        {after}"),
    )


def transformer(old: str, new: str) -> tuple[Patch]:
    """A change in the file of the model."""
    return (Patch("model.transformer", old, new),)


MUTANTS = (
    Mutant(
        "a tied head starts as a copy",
        ("I01", "I04"),
        ("karpathy/nanoGPT#21", "facebookresearch/lingua#74"),
        headed("if config.tied: self.head.weight = nn.Parameter(self.token.weight.detach().clone())"),
        TYING,
        "overfits",
    ),
    Mutant(
        "a tied head shares a parameter, which loading can part",
        ("I02", "I03"),
        ("pytorch/pytorch#188346", "TransformerLensOrg/TransformerLens#1725"),
        headed("if config.tied: self.head.weight = self.token.weight"),
        "contract/test_contract.py::test_a_state_names_each_tensor_once",
        "overfits",
    ),
    Mutant(
        "a tied head shares storage alone",
        ("I05",),
        ("pytorch/xla#2719",),
        headed("if config.tied: self.head.weight.data = self.token.weight.data"),
        TYING,
        "overfits",
    ),
    Mutant(
        "a model built without memory loses its tie",
        ("I06",),
        ("Modalities/modalities#357",),
        headed("if config.tied and not self.token.weight.is_meta: self.head.weight = self.token.weight"),
        TYING,
        "overfits",
    ),
    Mutant(
        "the setting of the tie is not read",
        ("I07",),
        ("huggingface/transformers#43429",),
        transformer(HEAD, ALWAYS),
        TYING,
        "overfits",
    ),
    Mutant(
        "an untied head reads the embedding all the same",
        ("I07",),
        ("huggingface/transformers#43429",),
        transformer("self.token.weight if self.head is None else self.head.weight", "self.token.weight"),
        "conformance/test_start.py::test_every_parameter_learns",
        "overfits",
    ),
    Mutant(
        "the init of the head rescales the tied matrix",
        ("I08",),
        ("fastai/fastai#2090",),
        transformer(LAST, f"{LAST}\n        self.token.weight.data.mul_(config.d_model ** -0.5)"),
        "unit/test_init.py::test_gpt2_spreads",
        "overfits",
    ),
    Mutant(
        "blocks in a plain list",
        ("J01",),
        ("pytorch/pytorch#715",),
        transformer(
            "nn.ModuleList(Block(config) for _ in range(config.n_layers))",
            "[Block(config) for _ in range(config.n_layers)]",
        ),
        REGISTERED,
        "loss_falls",
    ),
    Mutant(
        "heads in a plain list",
        ("J01",),
        ("LiamMaclean216/Pytorch-Transfomer#7",),
        (
            Patch(
                "model.attention",
                "nn.ModuleList(HeadProjection(config.d_model, rows, bias=bias) for rows in one)",
                "[HeadProjection(config.d_model, rows, bias=bias) for rows in one]",
            ),
        ),
        REGISTERED,
        "overfits",
    ),
    Mutant(
        "the mask is a buffer of the state",
        ("R03", "R04"),
        ("karpathy/minGPT#119", "huggingface/transformers#23147"),
        (
            Patch(
                "model.attention",
                "self.dropout = config.attention.dropout",
                "self.dropout = config.attention.dropout\n"
                '        self.register_buffer("mask", torch.ones(config.context, config.context).tril())',
            ),
        ),
        "contract/test_contract.py::test_a_state_names_each_tensor_once",
        "overfits",
    ),
)
