"""The scale of the scores, how heads are split and merged, and which query reads which key."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.masks import CAUSAL, FORMULA, KERNEL, PATHS
from blockproof.tests.mutants.mutant import Mutant

GROUPS = "unit/test_attention.py::test_neighbouring_queries_share_a_group"
SPLIT = "x.unflatten(-1, (n_heads, -1)).transpose(1, 2)"
MERGE = "x.transpose(1, 2).flatten(start_dim=2)"
EXPLICIT_SCALE = "/ math.sqrt(q.shape[-1])"


def scaled(by: str) -> tuple[Patch]:
    """The fused kernel, with a scale of its own."""
    old = "enable_gqa=self.sharing > 1"
    return (Patch("model.attention", old, f"{old}, scale={by}"),)


def attention(old: str, new: str) -> Patch:
    """A change in the file of attention."""
    return Patch("model.attention", old, new)


MUTANTS = (
    Mutant(
        "scaled by the width of the model",
        ("E01",),
        ("karpathy/ng-video-lecture#6",),
        scaled("x.shape[-1] ** -0.5"),
        FORMULA,
        "overfits",
    ),
    Mutant(
        "scaled by the width of the model, in the path that is written out",
        ("E02",),
        ("lucidrains/vit-pytorch#65",),
        (attention(EXPLICIT_SCALE, "/ math.sqrt(x.shape[-1])"),),
        "unit/test_attention.py::test_scale_is_that_of_a_head",
        "overfits",
    ),
    Mutant(
        "scaled by the width of keys and values together",
        ("E03",),
        ("Graylab/DL4Proteins-notebooks#12",),
        scaled("k.shape[1:].numel() ** -0.5 * len(q[0, 0]) ** 0.5"),
        FORMULA,
        "overfits",
    ),
    Mutant(
        "scaled by the number of heads",
        ("E04",),
        ("tenstorrent/tt-metal#56789",),
        scaled("self.n_heads ** -0.5"),
        FORMULA,
        "overfits",
    ),
    Mutant(
        "heads are merged without swapping heads and time",
        ("E05",),
        ("jsbaan/transformer-from-scratch#6",),
        (attention(MERGE, "x.reshape(len(x), x.shape[2], -1)"),),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "no scale in the path that is written out",
        ("E06",),
        ("mlc-ai/mlc-llm#3426",),
        (attention(EXPLICIT_SCALE, ""),),
        PATHS,
        "overfits",
    ),
    Mutant(
        "heads are merged without swapping heads and features",
        ("E07",),
        ("hackiey/QAnet-pytorch#2",),
        (attention(MERGE, "x.permute(0, 2, 3, 1).flatten(start_dim=2)"),),
        FORMULA,
        "overfits",
    ),
    Mutant(
        "heads are split by a view alone",
        ("E08",),
        ("reczoo/FuxiCTR#30",),
        (attention(SPLIT, "x.reshape(len(x), n_heads, x.shape[1], -1)"),),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "heads are split and merged by views alone",
        ("E09",),
        ("ajhalthor/Transformer-Neural-Network#8",),
        (
            attention(SPLIT, "x.reshape(len(x), n_heads, x.shape[1], -1)"),
            attention(MERGE, "x.reshape(len(x), x.shape[2], -1)"),
        ),
        "conformance/test_causality.py::test_every_output_depends_on_the_past",
        "overfits",
    ),
    Mutant(
        "heads are merged without swapping, in one variant",
        ("E10",),
        ("meta-pytorch/opacus#825",),
        (
            attention(
                "torch.stack([project(x) for project in role], dim=1)",
                "torch.stack([project(x) for project in role], dim=2).reshape(len(x), len(role), x.shape[1], -1)",
            ),
        ),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "shared keys are tiled, not repeated each",
        ("E11",),
        ("onnx/onnx#7274",),
        (
            attention(
                KERNEL,
                KERNEL.replace(
                    "q, k, v,", "q, *(part.repeat(1, self.sharing, 1, 1) for part in (k, v)),"
                ).replace(", enable_gqa=self.sharing > 1", ""),
            ),
        ),
        GROUPS,
        "overfits",
    ),
    Mutant(
        "shared keys are repeated along time",
        ("E12",),
        ("PrimeIntellect-ai/prime-rl#2681",),
        (
            attention(
                "part.repeat_interleave(self.sharing, dim=1)", "part.repeat_interleave(self.sharing, dim=2)"
            ),
        ),
        GROUPS,
        "overfits",
    ),
)
