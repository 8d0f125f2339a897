"""The causal mask and its fill values: wrong direction, offset, polarity, order or size."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

CAUSAL = "conformance/test_causality.py::test_no_output_depends_on_the_future"
FORMULA = "unit/test_attention.py::test_matches_the_reference"
PATHS = "unit/test_attention.py::test_fused_equals_explicit"
NARROW = "unit/test_attention.py::test_runs_in_half_precision"

KERNEL = """y = F.scaled_dot_product_attention(
            q, k, v, mask, dropout_p=rate, is_causal=mask is None, enable_gqa=self.sharing > 1
        )"""
BY_HAND = """k, v = (part.repeat_interleave(self.sharing, dim=1) for part in (k, v))
        scores = q @ k.mT / math.sqrt(q.shape[-1]) + (0.0 if bias is None else bias)
        y = F.dropout({weights}, rate) @ v"""


def masked(by: str) -> tuple[Patch]:
    """The fused kernel is given this as its mask, whatever the position's bias."""
    old = "mask, dropout_p=rate, is_causal=mask is None"
    return (Patch("model.attention", old, f"{by}, dropout_p=rate"),)


def weighted(weights: str) -> tuple[Patch]:
    """Attention by hand, with these weights of ``scores`` and ``hidden``."""
    return (Patch("model.attention", KERNEL, BY_HAND.format(weights=weights)),)


def bias_masked(new: str) -> tuple[Patch]:
    """Only where the position adds a bias to the scores."""
    return (Patch("model.attention", "bias.masked_fill(hidden, -torch.inf)", new),)


def written_out(new: str) -> tuple[Patch]:
    """Only in the path that is written out."""
    return (Patch("model.attention", "scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)", new),)


MUTANTS = (
    Mutant(
        "what is hidden is given as what may be seen",
        ("A01",),
        ("rasbt/LLMs-from-scratch#1061",),
        masked("hidden"),
        CAUSAL,
        "loss_falls",
    ),
    Mutant(
        "the mask of a bias has the other polarity",
        ("A02",),
        ("pytorch/pytorch#170404",),
        bias_masked("bias.masked_fill(~hidden, -torch.inf)"),
        CAUSAL,
        "output_shape",
    ),
    Mutant(
        "a mask of 0 and 1 is added to the scores",
        ("A03",),
        ("pytorch/pytorch#21518",),
        masked("(~hidden).to(q.dtype)"),
        CAUSAL,
        "loss_falls",
    ),
    Mutant(
        "the diagonal is one off: the next token is seen",
        ("A04",),
        ("RVC-Boss/GPT-SoVITS#965",),
        masked("torch.ones_like(hidden).tril(1)"),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "a token does not see itself",
        ("A05",),
        ("pytorch/pytorch#143287",),
        masked("torch.ones_like(hidden).tril(-1).index_fill(0, hidden.new_zeros(1).long(), True)"),
        FORMULA,
        "overfits",
    ),
    Mutant(
        "the mask lies along the queries, not the keys",
        ("A06",),
        ("lsdefine/attention-is-all-you-need-keras#16",),
        masked("torch.zeros_like(hidden, dtype=q.dtype).masked_fill(hidden[:, -1:], -1e4)"),
        CAUSAL,
        "loss_falls",
    ),
    Mutant(
        "no mask",
        ("A07",),
        ("paiml/entrenar#310",),
        (Patch("model.attention", "is_causal=mask is None", "is_causal=False"),),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "no mask in the path that is written out",
        ("A08",),
        ("NVIDIA/TransformerEngine#1524",),
        written_out("scores.softmax(dim=-1)"),
        PATHS,
        "overfits",
    ),
    Mutant(
        "no mask where there is a bias",
        ("A09",),
        ("facebookresearch/xformers#212",),
        bias_masked("bias"),
        CAUSAL,
        "loss_falls",
    ),
    Mutant(
        "softmax over the queries",
        ("A10",),
        ("karpathy/ng-video-lecture#42",),
        weighted("scores.masked_fill(hidden, -torch.inf).softmax(dim=-2)"),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "softmax over the batch",
        ("A11",),
        ("datawhalechina/llms-from-scratch-cn#54",),
        weighted("scores.masked_fill(hidden, -1e9).softmax(dim=0)"),
        CAUSAL,
        "loss_falls",
    ),
    Mutant(
        "softmax over one number: every weight is 1",
        ("A12",),
        ("PetrochukM/PyTorch-NLP#2",),
        weighted("scores[..., None].softmax(dim=-1).squeeze(-1).masked_fill(hidden, 0.0)"),
        FORMULA,
        "overfits",
    ),
    Mutant(
        "the mask after the softmax",
        ("A13",),
        ("huggingface/pytorch-image-models#2236",),
        weighted("scores.softmax(dim=-1).masked_fill(hidden, 0.0)"),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "the fill value has the wrong sign",
        ("A14",),
        ("lucidrains/memory-compressed-attention#2",),
        bias_masked("bias.masked_fill(hidden, torch.inf)"),
        CAUSAL,
        "output_shape",
    ),
    Mutant(
        "scores are multiplied by a mask of 0 and 1",
        ("A15",),
        ("georg-wolflein/good-features#1",),
        weighted("(scores * ~hidden).softmax(dim=-1)"),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "a second softmax, without a mask",
        ("A16",),
        ("zyy-2001/DisKT#6",),
        weighted("scores.masked_fill(hidden, -torch.inf).softmax(dim=-1).softmax(dim=-1)"),
        CAUSAL,
        "loss_falls",
    ),
    Mutant(
        "the first token sees nothing, beside a bias",
        ("B01", "B04"),
        ("pytorch/pytorch#103963", "bentrevett/pytorch-seq2seq#191"),
        bias_masked("bias.masked_fill(hidden | torch.eye(*hidden.shape).bool(), -torch.inf)"),
        FORMULA,
        "output_shape",
    ),
    Mutant(
        "a fill value that half precision does not hold",
        ("B03", "V08"),
        ("NVIDIA/apex#1052", "NVIDIA/apex#93"),
        bias_masked("bias.masked_fill(hidden, -1e9)"),
        NARROW,
        "overfits",
    ),
    Mutant(
        "a causal mask of -1e9",
        ("B06",),
        ("ahrefs/ocannl#548",),
        masked("torch.zeros_like(hidden, dtype=q.dtype).masked_fill(hidden, -1e9)"),
        NARROW,
        "overfits",
    ),
    Mutant(
        "a fill value that strong scores reach",
        ("B04",),
        ("bentrevett/pytorch-seq2seq#191",),
        masked("torch.zeros_like(hidden, dtype=q.dtype).masked_fill(hidden, -10.0)"),
        CAUSAL,
        "overfits",
    ),
    Mutant(
        "the first row is blank in the path that is written out",
        ("B05",),
        ("tracel-ai/burn#4697",),
        written_out(
            "scores.masked_fill(hidden | torch.eye(*hidden.shape).bool(), -torch.inf).softmax(dim=-1)"
        ),
        PATHS,
        "overfits",
    ),
)
