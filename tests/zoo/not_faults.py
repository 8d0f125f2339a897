"""Right models that were reported as faulty in public, by the number of the report: each must stay green.

A row names the checks that a careless suite would flag it by; its model is judged by all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from blockproof.tests.zoo import blocks, decoder, heads

FUTURE, PAST = "no_output_depends_on_the_future", "every_output_depends_on_the_past"
PREFIX, ROWS = "a_longer_sequence_changes_nothing_at_its_beginning", "rows_do_not_depend_on_each_other"
PADDING, LABELS = "masked_padding_changes_nothing", "loss_asks_for_the_next_token"
LEARNS, REGISTERED = "every_parameter_learns", "everything_is_registered"
TYING, START, FLOOR = (
    "head_and_embedding_are_one_or_two",
    "loss_starts_near_that_of_a_guess",
    "learns_a_tiny_batch_to_its_floor",
)
IGNORED, ORDER = "ignored_labels_give_neither_loss_nor_gradient", "order_of_earlier_tokens_matters"


@dataclass(frozen=True)
class NotFault:
    """A report of a fault that is none.

    Attributes:
        id: of the report.
        where: it was made, owner/repo#number.
        told: what was taken for a fault.
        why: it is none.
        build: makes a model that does it.
        asked: the checks that could be misled; they must come to a result.
    """

    id: str
    where: str
    told: str
    why: str
    build: Callable[[], nn.Module]
    asked: tuple[str, ...]


MODELS = (
    NotFault(
        "Z01", "TransformerLensOrg/TransformerLens#284",
        "the mask is the triangle above the diagonal", "it marks what is forbidden",
        blocks.within(blocks.Forbidden), (FUTURE, PAST, PREFIX),
    ),
    NotFault(
        "Z02", "kzl/decision-transformer#30",
        "a padding mask of ones lets the future in", "the causal mask is another one, beside it",
        heads.OnesMask, (FUTURE, PREFIX, PADDING),
    ),
    NotFault(
        "Z03", "abisee/pointer-generator#88",
        "the mask comes after the softmax", "weights are made to sum to 1 again: it is the same function",
        blocks.within(blocks.Renormalised), (FUTURE, PREFIX, START),
    ),
    NotFault(
        "Z04", "lucidrains/x-transformers#127",
        "the name of the residual is given to something else", "nothing is changed in place",
        blocks.within(blocks.Alias), (LEARNS, FUTURE),
    ),
    NotFault(
        "Z05", "LiyuanLucasLiu/Transformer-Clinic#27",
        "the skip is taken after the norm", "that is post-norm, seen from the next norm on",
        blocks.within(blocks.SkipAfterNorm), (LEARNS, START),
    ),
    NotFault(
        "Z06", "karpathy/nanoGPT#629",
        "the matrix for queries, keys and values is too large", "it is three of (D, D), each with all heads",
        decoder.Decoder, (LEARNS, REGISTERED),
    ),
    NotFault(
        "Z09", "karpathy/nanochat#264",
        "rotary positions turn a feature with the one half a head away", "trained so, it is an order of features",
        blocks.rotary(blocks.HalfSplit), (ORDER, FUTURE),
    ),
    NotFault(
        "Z09", "karpathy/nanochat#264",
        "rotary positions turn a feature with its neighbour", "trained so, it is an order of features",
        blocks.rotary(blocks.Neighbours), (ORDER, FUTURE),
    ),
    NotFault(
        "Z10", "huggingface/transformers#35066",
        "the model does not shift its labels", "the function that works out its loss does",
        heads.ShiftsInHelper, (LABELS, IGNORED),
    ),
    NotFault(
        "Z11", "karpathy/minGPT#113",
        "the norm leaves time out", "it is over the features of one token",
        blocks.within(blocks.NormByHand), (FUTURE, ROWS, PREFIX),
    ),
    NotFault(
        "Z12", "huggingface/transformers#2401",
        "the size of the batch changes the logits", "sums in another order round differently",
        heads.OtherKernels, (ROWS, PREFIX, FUTURE),
    ),
    NotFault(
        "Z13", "huggingface/transformers#14960",
        "the head is missing among the parameters", "it is the embedding, which is listed once",
        heads.Tied, (TYING, REGISTERED, LEARNS),
    ),
    NotFault(
        "Z14", "TransformerLensOrg/TransformerLens#693",
        "all logits of a place are moved", "by the same number, which the softmax does not see",
        heads.Centred, (LABELS, START, FUTURE),
    ),
    NotFault(
        "Z16", "huggingface/trl#1172",
        "logits[:-1] are scored against labels[1:]", "that is the next token",
        heads.ShiftsInside, (LABELS, IGNORED),
    ),
    NotFault(
        "Z17", "huggingface/transformers#18478",
        "padding is told to be at place 1", "the mask hides it",
        heads.PadsAtOne, (PADDING,),
    ),
)  # fmt: skip

# Not models but ways to train, see ``test_not_faults.py``.
COMPUTATIONS = {"Z07": "karpathy/nanoGPT#605", "Z15": "NVIDIA/apex#1849"}
NOT_EXPRESSED = {"Z08": "karpathy/build-nanogpt#100 is withdrawn by its author and names no computation"}
