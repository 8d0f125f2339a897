"""What the monitor reports, against loops, and that it leaves no trace."""

import itertools

import pytest
import torch
from torch import Tensor

from blockproof.model.monitor import ActivationMonitor, gradient_norms, layers, mean_cosine
from blockproof.model.transformer import InputError, Transformer
from blockproof.tests.helpers import B, D, T, V, gradients, parameter, tiny_ids, tiny_model

NAMES = ["embedding", "block 0", "block 1", "final norm"]


def hooks(model: Transformer) -> int:
    return sum(len(module._forward_hooks) for module in model.modules())


def brute_cosine(x: Tensor) -> float:
    """Over ordered pairs of different tokens, one by one."""
    pairs = itertools.permutations(range(x.shape[1]), 2)
    cosines = [torch.cosine_similarity(x[:, s], x[:, t], dim=-1).mean().item() for s, t in pairs]
    return sum(cosines) / len(cosines)


def test_layers_in_order() -> None:
    model = tiny_model()
    assert list(layers(model)) == NAMES
    assert list(layers(model).values()) == [model.token, *model.blocks, model.norm]


def test_activations_by_hand() -> None:
    model, ids = tiny_model(), tiny_ids()
    with torch.no_grad(), ActivationMonitor(model) as monitor:
        model(tiny_ids())  # overwritten by the next
        model(ids)
        x = model.token(ids)
        streams = [x, model.blocks[0](model.position(x, torch.arange(T)), model.position)]
        streams.append(model.blocks[1](streams[1], model.position))
        streams.append(model.norm(streams[2]))
    assert list(monitor.rms) == list(monitor.likeness) == NAMES
    for name, stream in zip(NAMES, streams, strict=True):
        assert monitor.rms[name] == pytest.approx((stream**2).mean().item() ** 0.5, rel=1e-12)
        assert monitor.likeness[name] == pytest.approx(brute_cosine(stream), abs=1e-12)


def test_a_huge_activation_is_still_a_number() -> None:
    """Its square overflows float32, while a norm behind it keeps the loss finite."""
    model = tiny_model(dtype=torch.float32)
    with torch.no_grad(), ActivationMonitor(model) as monitor:
        parameter(model, "position.table.weight").fill_(1e25)
        assert model(tiny_ids()).isfinite().all()
    assert monitor.rms["block 0"] == pytest.approx(1e25, rel=1e-3)


@pytest.mark.parametrize("tokens", [2, T])
def test_mean_cosine_against_pairs(tokens: int) -> None:
    x = torch.randn(B, tokens, D, dtype=torch.float64) + 0.5
    assert mean_cosine(x) == pytest.approx(brute_cosine(x), abs=1e-12)


def test_mean_cosine_at_its_ends() -> None:
    same, opposed = torch.ones(B, T, D).double(), torch.tensor([[[1.0, 2.0], [-3.0, -6.0]]]).double()
    assert mean_cosine(same) == pytest.approx(1.0, abs=1e-12)
    assert mean_cosine(opposed) == pytest.approx(-1.0, abs=1e-12)
    assert mean_cosine(torch.randn(B, 1, D)) == pytest.approx(0.0, abs=1e-6)


def test_gradient_norms_by_hand() -> None:
    model = tiny_model()
    (model(tiny_ids()) * torch.randn(V)).sum().backward()
    norms = gradient_norms(model)
    assert list(norms) == NAMES
    for name, layer in layers(model).items():
        flat = torch.cat([gradient.flatten() for gradient in gradients(layer).values()])
        assert norms[name] == pytest.approx(flat.norm().item(), rel=1e-12)
        assert norms[name] > 0


def test_watching_changes_nothing_and_ends() -> None:
    model, ids = tiny_model(), tiny_ids()
    before = model(ids)
    with ActivationMonitor(model) as monitor:
        assert hooks(model) == len(NAMES)
        assert torch.equal(model(ids), before)
    assert hooks(model) == 0
    seen = dict(monitor.rms)
    model(tiny_ids())
    assert monitor.rms == seen


def test_an_error_leaves_no_hooks() -> None:
    model = tiny_model()
    with pytest.raises(InputError), ActivationMonitor(model):
        model(tiny_ids(length=T + 1))
    assert hooks(model) == 0
