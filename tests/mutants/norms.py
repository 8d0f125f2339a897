"""Norms and where they stand: other statistics, other axes, another place of the skip."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.masks import CAUSAL
from blockproof.tests.mutants.mutant import Mutant

NORM = "unit/test_norm.py::test_matches_the_reference"
PLACED = "unit/test_residual.py::test_matches_the_reference"
SILENT = "unit/test_residual.py::test_with_a_silent_sublayer"
LEARNS = "conformance/test_start.py::test_every_parameter_learns"

BUILT = "super().__init__(config.d_model, eps=config.norm.eps, bias=config.norm.bias is not False)"
MEAN_SQUARE = "wide.square().mean(dim=-1, keepdim=True)"
ROOT = "torch.rsqrt(mean_square + self.eps)"
PRE = "return self.residual(x, self.sublayer(self.norm(x), *beside))"
POST = "return self.norm(self.residual(x, self.sublayer(x, *beside)))"


def layer_norm(normed: str) -> tuple[Patch]:
    """LayerNorm by hand: what becomes of x, given mean and spread over the features."""
    body = f"({normed}) * self.weight + (0.0 if self.bias is None else self.bias)"
    lines = f"from types import MethodType\n        self.forward = MethodType(lambda self, x: {body}, self)"
    return (Patch("model.norm", BUILT, f"{BUILT}\n        {lines}"),)


def rms_norm(old: str, new: str) -> tuple[Patch]:
    """A change of RMSNorm."""
    return (Patch("model.norm", old, new),)


def placed(old: str, new: str) -> tuple[Patch]:
    """A change of a placement or of a residual."""
    return (Patch("model.residual", old, new),)


MUTANTS = (
    Mutant(
        "deviation of a sample, eps added to it",
        ("P01",),
        ("hyunwoongko/transformer#7",),
        layer_norm("(x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps)"),
        NORM,
        "overfits",
    ),
    Mutant(
        "eps outside of the root",
        ("P02",),
        ("tracel-ai/burn#2185",),
        rms_norm(ROOT, "1 / (mean_square.sqrt() + self.eps)"),
        NORM,
        "overfits",
    ),
    Mutant(
        "squares without a root",
        ("P03",),
        ("131250208/TPlinker-joint-extraction#37",),
        rms_norm(ROOT, "1 / (mean_square + self.eps)"),
        NORM,
        "overfits",
    ),
    Mutant(
        "the variance as a difference of large numbers",
        ("P04",),
        ("pytorch/pytorch#51102",),
        layer_norm(
            "(x - x.mean(-1, keepdim=True)) * "
            "(x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True).square() + self.eps).rsqrt()"
        ),
        "unit/test_norm.py::test_a_large_mean_leaves_the_variance_exact",
        "overfits",
    ),
    Mutant(
        "squares in half precision",
        ("P05",),
        ("pytorch/pytorch#133085",),
        rms_norm("wide = x.to(torch.promote_types(x.dtype, torch.float32))", "wide = x"),
        "unit/test_norm.py::test_a_narrow_dtype_holds_large_numbers",
        "overfits",
    ),
    Mutant(
        "eps of the dtype",
        ("P06",),
        ("pytorch/pytorch#189581",),
        rms_norm(ROOT, "torch.rsqrt(mean_square + torch.finfo(x.dtype).eps)"),
        NORM,
        "overfits",
    ),
    Mutant(
        "eps added after a division by the largest",
        ("P07",),
        ("apple/coremltools#2821",),
        rms_norm(ROOT, "torch.rsqrt(mean_square + self.eps * wide.square().amax(dim=-1, keepdim=True))"),
        NORM,
        "overfits",
    ),
    Mutant(
        "statistics over time",
        ("P08",),
        ("jadore801120/attention-is-all-you-need-pytorch#17",),
        rms_norm(MEAN_SQUARE, "wide.square().mean(dim=1, keepdim=True)"),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "statistics over time and features",
        ("P09",),
        ("google-deepmind/dm-haiku#700",),
        rms_norm(MEAN_SQUARE, "wide.square().mean(dim=(1, 2), keepdim=True)"),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "LayerNorm over time and features",
        ("P09",),
        ("patrick-kidger/equinox#471",),
        layer_norm("F.layer_norm(x, x.shape[1:], eps=self.eps)".replace("F.", "nn.functional.")),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "statistics over the batch",
        ("V06",),
        ("warpem/miss-alignment#6",),
        layer_norm(
            "(x - x.mean(0, keepdim=True)) / (x.var(0, keepdim=True, correction=0) + self.eps).sqrt()"
        ),
        CAUSAL,
        "loss_falls",
    ),
    Mutant(
        "the skip carries the normed value",
        ("P10",),
        ("pytorch/pytorch#61165",),
        placed(
            PRE, "normed = self.norm(x)\n        return self.residual(normed, self.sublayer(normed, *beside))"
        ),
        SILENT,
        "overfits",
    ),
    Mutant(
        "post-norm norms the branch alone",
        ("P12",),
        ("NVIDIA-NeMo/Speech#4350",),
        placed(POST, "return self.residual(x, self.norm(self.sublayer(x, *beside)))"),
        PLACED,
        "overfits",
    ),
    Mutant(
        "the skip goes into the sub-layer",
        ("P13",),
        ("probml/pml-book#709",),
        placed(PRE, "return self.sublayer(self.residual(x, self.norm(x)), *beside)"),
        SILENT,
        "loss_falls",
    ),
    Mutant(
        "no norm before the head",
        ("P14",),
        ("vllm-project/speculators#313",),
        (Patch("model.transformer", "F.linear(self.norm(x), matrix", "F.linear(x, matrix"),),
        LEARNS,
        "overfits",
    ),
    Mutant(
        "norms keep their shift",
        ("P15",),
        ("explosion/curated-transformers#321",),
        (Patch("model.norm", "bias=config.norm.bias is not False", "bias=True"),),
        "unit/test_norm.py::test_layernorm_may_do_without_a_shift",
        "overfits",
    ),
    Mutant(
        "feed-forwards keep their bias",
        ("P15",),
        ("vithursant/nanoGPT_mlx#1",),
        (
            Patch(
                "model.feedforward",
                "self.up = nn.Linear(config.d_model, config.d_ff, bias=config.feedforward.bias)",
                "self.up = nn.Linear(config.d_model, config.d_ff)",
            ),
        ),
        "unit/test_feedforward.py::test_biases_are_left_out_when_told",
        "overfits",
    ),
    Mutant(
        "a norm is built and not called",
        ("P16",),
        ("agentdr1/LA_MIL#3",),
        placed(PRE, "return self.residual(x, self.sublayer(x, *beside))"),
        LEARNS,
        "overfits",
    ),
    Mutant(
        "pre-norm and post-norm at once",
        ("P17",),
        ("hkproj/pytorch-transformer#14",),
        placed(PRE, "return self.norm(self.residual(x, self.sublayer(self.norm(x), *beside)))"),
        PLACED,
        "overfits",
    ),
)
