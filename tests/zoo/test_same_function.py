"""The models of ``not_faults.py`` do what is told of them, and it is the same function, or the same training."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.model.optimizer import make_optimizer
from blockproof.tests.checks.precision import apart
from blockproof.tests.helpers import randomise, tiny_training
from blockproof.tests.zoo import blocks, heads
from blockproof.tests.zoo.decoder import LAYERS, D, Decoder, H, T, V

ROUNDING = 1e-12  # of the largest logit: float64


def moved(build: Callable[[], Decoder]) -> Decoder:
    """A model in float64, its parameters random: the same for every build, as far as it has them."""
    torch.manual_seed(1)
    return randomise(build()).double()


@pytest.fixture
def ids() -> Tensor:
    """Random tokens (B, T)."""
    return torch.randint(V, (5, T))


def log_p(model: nn.Module, ids: Tensor) -> Tensor:
    """Log-probabilities (B, T, V)."""
    out = model(ids)
    return getattr(out, "logits", out).log_softmax(dim=-1)


@pytest.mark.parametrize(
    "build",
    [*map(blocks.within, (blocks.Forbidden, blocks.Renormalised, blocks.Alias, blocks.NormByHand)),
     heads.OnesMask, heads.Centred, heads.ShiftsInside],
    ids=["Z01", "Z03", "Z04", "Z11", "Z02", "Z14", "Z16"],
)  # fmt: skip
def test_equals_the_usual_decoder(build: Callable[[], Decoder], ids: Tensor) -> None:
    assert apart(log_p(moved(build), ids), log_p(moved(Decoder), ids)) < ROUNDING


def test_z05_is_post_norm(ids: Tensor) -> None:
    model = moved(blocks.within(blocks.SkipAfterNorm))
    layers = model.layers
    x = layers[0].ln_1(model.embedded(ids, torch.arange(T)))
    for layer, last in zip(layers, [*(after.ln_1 for after in layers[1:]), model.ln_f], strict=True):
        x = layer.ln_2(x + layer.attend(x, None))
        x = last(x + layer.mlp(x))  # the norm of a sum, twice a layer: post-norm
    assert apart(model.logits(x), model(ids)) < ROUNDING


def test_z06_is_three_square_matrices_all_of_which_are_used(ids: Tensor) -> None:
    model = moved(Decoder)
    matrices = [layer.c_attn.weight for layer in model.layers]
    for matrix, gradient in zip(
        matrices, torch.autograd.grad(model(ids).square().sum(), matrices), strict=True
    ):
        assert matrix.shape == (3 * D, D)
        assert (gradient.abs().amax(dim=1) > 0).all()


def test_z09_pairings_differ_by_the_order_of_features(ids: Tensor) -> None:
    halves, neighbours = moved(blocks.rotary(blocks.HalfSplit)), moved(blocks.rotary(blocks.Neighbours))
    assert apart(neighbours(ids), halves(ids)) > 1e-3
    order = torch.arange(D // H).unflatten(0, (2, -1)).T.flatten()  # where the halves stand, by turns
    features = (torch.arange(H)[:, None] * (D // H) + order).flatten()
    rows = torch.cat([features, features + D, torch.arange(D) + 2 * D])  # values stay
    with torch.no_grad():
        for layer in neighbours.layers:
            layer.c_attn.weight.copy_(layer.c_attn.weight[rows])
            layer.c_attn.bias.copy_(layer.c_attn.bias[rows])
    assert apart(neighbours(ids), halves(ids)) < ROUNDING


def test_z10_asks_for_what_z16_asks_for(ids: Tensor) -> None:
    losses = [moved(kind)(ids, labels=ids).loss.item() for kind in (heads.ShiftsInHelper, heads.ShiftsInside)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)  # the helper works in float32


def test_z12_the_size_of_the_batch_changes_logits_by_rounding(ids: Tensor) -> None:
    model = moved(heads.OtherKernels)
    assert 0.0 < apart(model(ids[:4]), model(ids)[:4]) < 1e-5


def test_z13_a_tied_matrix_is_listed_once() -> None:
    model, untied = heads.Tied(), Decoder()
    assert "lm_head.weight" in model.state_dict()
    assert "lm_head.weight" not in dict(model.named_parameters())
    count, apart_count = (sum(p.numel() for p in each.parameters()) for each in (model, untied))
    assert apart_count - count == V * D


def test_z14_moves_all_logits_of_a_place_alike(ids: Tensor) -> None:
    shift = moved(heads.Centred)(ids).logits - moved(Decoder)(ids)
    assert shift.abs().amin(dim=-1).amax() > 0.1
    assert (shift.amax(dim=-1) - shift.amin(dim=-1)).amax() < ROUNDING * 10


def test_z17_pads_are_at_place_1() -> None:
    mask = torch.tensor([[0, 0, 0, 1, 1], [1, 1, 1, 0, 0]])
    assert heads.PadsAtOne().places(mask).tolist() == [[1, 1, 1, 0, 1], [0, 1, 2, 1, 1]]


def test_z07_each_part_divided_by_the_number_of_parts_is_the_whole(ids: Tensor) -> None:
    ids = torch.cat([ids, ids[:1]])

    def gradient(number: int) -> Tensor:
        model = moved(Decoder)
        for part in ids.chunk(number):
            loss = F.cross_entropy(model(part)[:, :-1].flatten(0, 1), part[:, 1:].flatten())
            (loss / number).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    assert apart(gradient(3), gradient(1)) < ROUNDING


def test_z15_decay_is_multiplied_by_the_learning_rate() -> None:
    """One AdamW step by hand: weights shrink by lr · decay, then move by lr along ±1 where gradients are large."""
    model = nn.Linear(3, 2, bias=False).double()
    config = tiny_training(lr=0.1, weight_decay=0.5)
    before = model.weight.detach().clone()
    optimizer = make_optimizer(model, config)
    model.weight.grad = torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]], dtype=torch.float64)
    optimizer.step()
    expected = before * (1 - 0.1 * 0.5) - 0.1 * model.weight.grad / (1 + config.eps)
    assert math.isclose(apart(model.weight.detach(), expected), 0.0, abs_tol=ROUNDING)


def test_the_decoder_has_what_its_sizes_say() -> None:
    block = 12 * D * D + 13 * D
    assert sum(p.numel() for p in Decoder().parameters()) == (2 * V + T) * D + LAYERS * block + 2 * D
