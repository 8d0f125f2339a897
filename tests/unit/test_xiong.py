"""The assumptions of Xiong et al. 2020 can be expressed: their Lemmas 1 and 2 hold at init."""

from typing import Any

import pytest
import torch
from torch import Tensor

from blockproof.model.config import ModelConfig
from blockproof.model.transformer import Transformer

D, N, TOKENS, DRAWS = 256, 6, (8, 32), 12


def stack(placement: str, seed: int) -> Transformer:
    """One head, d_ff = d, ReLU, Xavier's init with W_Q = W_K = 0, no biases but zeros."""
    torch.manual_seed(seed)
    return Transformer(
        ModelConfig.from_dict(
            {
                "vocab_size": 2,
                "context": TOKENS[1],
                "d_model": D,
                "n_layers": N,
                "position": "none",
                "init": "xiong",
                "attention": {"n_heads": 1},
                "feedforward": {"kind": "relu", "width": D},
                "norm": {"placement": placement},
            }
        )
    )


def square_norms(placement: str, path: str) -> list[float]:
    """Mean ‖x‖² / d at a place in each block, for Gaussian tokens, over several draws of the weights."""
    return torch.stack([one_draw(placement, path, seed) for seed in range(DRAWS)]).mean(dim=0).tolist()


def one_draw(placement: str, path: str, seed: int) -> Tensor:
    model, seen = stack(placement, seed), []

    def keep(module: Any, inputs: Any, output: Tensor) -> None:
        seen.append(output.square().sum(dim=-1).mean() / D)

    for i in range(N):
        model.get_submodule(f"blocks.{i}.{path}".rstrip(".")).register_forward_hook(keep)
    x = torch.randn(*TOKENS, D)
    with torch.no_grad():
        for block in model.blocks:
            x = block(x, model.position)
    return torch.stack(seen)


def test_post_norm_keeps_its_scale_at_every_depth() -> None:
    """E‖x‖² just before the second norm is 3d/2: d from the normed stream, d/2 through ReLU."""
    assert square_norms("post", "feedforward.residual") == pytest.approx([1.5] * N, rel=0.03)
    assert square_norms("post", "feedforward.sublayer") == pytest.approx([0.5] * N, rel=0.06)


def test_pre_norm_grows_linearly_with_depth() -> None:
    """(1 + l/2) d ≤ E‖x_l‖² ≤ (1 + 3l/2) d behind layer l."""
    norms = square_norms("pre", "")
    for layer, norm in enumerate(norms, start=1):
        assert 0.97 * (1 + layer / 2) < norm < 1.03 * (1 + 3 * layer / 2)
    assert norms[-1] > 0.97 * (1 + N / 2)
