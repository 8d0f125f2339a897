"""What is often tested instead: each passes on a right model, and misses most of what is wrong with another.

A check fails by an error of any kind. Those of the model look at every model that the conformance tests do.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from blockproof.model.evaluate import evaluate
from blockproof.model.train import train
from blockproof.tests.helpers import tiny_learner, tiny_source, tiny_training
from blockproof.tests.subjects import CONFIGS, WithLoss, factory

B, T = 4, 8
COUNTS = [26848, 24096, 26144, 23323]


def built() -> Iterator[tuple[WithLoss, Tensor]]:
    """Each model with windows (B, T + 1)."""
    for name in CONFIGS:
        torch.manual_seed(0)
        model = factory(name)()
        yield model, torch.randint(model.config.vocab_size, (B, T + 1))


def loss_of(model: WithLoss, tokens: Tensor) -> Tensor:
    """The model's own, with its labels shifted before."""
    return model(tokens[:, :-1], tokens[:, 1:])[1]


def output_shape() -> None:
    """The logits are (B, T, V)."""
    for model, tokens in built():
        assert model(tokens[:, :-1]).shape == (B, T, model.config.vocab_size)


def no_exception() -> None:
    """Forward, backward and a step run in both modes."""
    for model, tokens in built():
        optimizer = torch.optim.AdamW(model.parameters())
        for mode in (True, False):
            loss_of(model.train(mode), tokens).backward()
            optimizer.step()


def finite_loss() -> None:
    """The loss is a positive number."""
    for model, tokens in built():
        loss = loss_of(model, tokens)
        assert loss.isfinite()
        assert loss > 0


def loss_falls() -> None:
    """Ten steps on one batch make it smaller."""
    for model, tokens in built():
        curve = trained(model, tokens, steps=10)
        assert curve[-1] < curve[0]


def overfits() -> None:
    """One batch of two sequences is learnt by heart."""
    for model, tokens in built():
        assert trained(model, tokens[:2], steps=20)[-1] < 0.5


def trained(model: WithLoss, tokens: Tensor, steps: int) -> list[float]:
    """Losses by step, in eval mode so that they fall without noise."""
    optimizer, curve = torch.optim.AdamW(model.eval().parameters(), lr=1e-2), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, tokens)
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return curve


def generates() -> None:
    """Greedy decoding gives as many ids as were asked for, all of the vocabulary."""
    for model, tokens in built():
        ids = tokens[:, :3]
        for _ in range(4):
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(dim=-1)], dim=1)
        assert ids.shape == (B, 7)
        assert 0 <= ids.min() <= ids.max() < model.config.vocab_size


def parameter_count() -> None:
    """The models have as many parameters as were counted once."""
    counts = [sum(p.numel() for p in model.parameters()) for model, _ in built()]
    assert counts == COUNTS


def state_survives() -> None:
    """A saved state can be loaded."""
    for model, _ in built():
        assert not any(model.load_state_dict(model.state_dict()))


def training_lowers_the_loss() -> None:
    """The training loop runs, and the last loss is below the first."""
    history = train(tiny_learner(), tiny_source(), tiny_training(steps=40, eval_every=40), 0)
    assert history.training[-1].loss < history.training[0].loss


def evaluation_is_finite() -> None:
    """The validation loss is a positive number."""
    torch.manual_seed(0)
    loss = evaluate(tiny_learner(), tiny_source().validation())
    assert 0 < loss < 100


NAIVE: dict[str, Callable[[], None]] = {
    check.__name__: check
    for check in (
        output_shape, no_exception, finite_loss, loss_falls, overfits, generates, parameter_count,
        state_survives, training_lowers_the_loss, evaluation_is_finite,
    )
}  # fmt: skip
