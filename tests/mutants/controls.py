"""What was reported and is no bug, or makes no difference here: no test may turn red."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.masks import bias_masked, weighted
from blockproof.tests.mutants.mutant import Mutant

ROTATED = "return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)"
PAIRS = "return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)"
# What only tells conventions apart from each other must be green in the black box alone: where it may show.
CAUSAL = "conformance/test_causality.py"

MUTANTS = (
    Mutant(
        "a triangle of 1 marks what is forbidden",
        ("Z01",),
        ("TransformerLensOrg/TransformerLens#284",),
        (
            Patch(
                "model.attention",
                "mask, dropout_p=rate, is_causal=mask is None",
                "~torch.ones_like(hidden).triu(diagonal=1) if mask is None else mask, dropout_p=rate",
            ),
        ),
        "unit/test_attention.py",
        "none: it is right",
        equivalent="it is the same mask, told by its complement",
    ),
    Mutant(
        "the mask after the softmax, then normalised anew",
        ("Z03",),
        ("abisee/pointer-generator#88",),
        weighted("(w := scores.softmax(dim=-1).masked_fill(hidden, 0.0)) / w.sum(dim=-1, keepdim=True)"),
        CAUSAL,
        "none: it is right",
        equivalent="the same function; only rounding depends on the future, below what a black box is held to",
    ),
    Mutant(
        "the name of the stream is given to the sum",
        ("Z04",),
        ("lucidrains/x-transformers#127",),
        (
            Patch(
                "model.residual",
                "return self.dropout(x) + branch",
                "x = self.dropout(x) + branch\n        return x",
            ),
        ),
        "unit/test_residual.py",
        "none: it is right",
        equivalent="a name is bound anew, no tensor is changed",
    ),
    Mutant(
        "neighbours are turned together, from the start",
        ("Z09",),
        ("karpathy/nanochat#264",),
        (
            Patch(
                "model.position",
                "first, second = heads.chunk(2, dim=-1)",
                "first, second = heads.unflatten(-1, (-1, 2)).unbind(-1)",
            ),
            Patch("model.position", ROTATED, PAIRS),
        ),
        CAUSAL,
        "none: it is right",
        equivalent="for a model trained from scratch the features of a head only stand in another order",
    ),
    Mutant(
        "labels by rolling the window",
        ("Z10", "Z16"),
        ("huggingface/transformers#35066", "huggingface/trl#1172"),
        (
            Patch(
                "model.labels",
                "targets = tokens[:, 1:].clone()",
                "targets = tokens.roll(-1, dims=1)[:, :-1].clone()",
            ),
        ),
        "unit/test_labels.py",
        "none: it is right",
        equivalent="the last column, which the roll would get wrong, is cut off",
    ),
    Mutant(
        "logits are centred",
        ("Z14",),
        ("TransformerLensOrg/TransformerLens#693",),
        (
            Patch(
                "model.transformer",
                "return F.linear(self.norm(x), matrix, self.head_bias)",
                "logits = F.linear(self.norm(x), matrix, self.head_bias)\n"
                "        return logits - logits.mean(dim=-1, keepdim=True)",
            ),
        ),
        "conformance/test_labels.py",
        "none: it is right",
        equivalent="softmax does not see what all logits of a place have in common",
    ),
    Mutant(
        "two of the smallest numbers are added for what is hidden",
        ("B02",),
        ("huggingface/transformers#17306",),
        bias_masked(
            "bias.masked_fill(hidden, torch.finfo(bias.dtype).min)"
            " + torch.zeros_like(bias).masked_fill(hidden, torch.finfo(bias.dtype).min)"
        ),
        "unit/test_attention.py",
        "none: it is right",
        equivalent="their sum is minus infinity, and without padding no row is hidden as a whole",
    ),
)
