"""Weight tying: right models pass, and each planted fault is named."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockproof.tests.checks.evidence import LackingError
from blockproof.tests.checks.tying import token_embedding, tying
from blockproof.tests.helpers import D, T, V, tiny_ids
from blockproof.tests.unit.checks.models import RIGHT, Encoder, NanoGPT, Small, of

UNTIED = {"ours, llama", "lecture", "torch's encoder", "with a cache"}
LIFE = {
    "after loading another's state",
    "after loading it back",
    "after copy.deepcopy",
    "after .double()",
    "after .double() and .float()",
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_models_pass(name: str) -> None:
    ours = name.startswith("ours")
    evidence = tying(of(RIGHT[name], ours=ours))
    assert evidence.problem == ""
    assert evidence.measured["head"] == ("a matrix of its own" if name in UNTIED else "tied")
    if name not in UNTIED:
        steps = LIFE | ({"when built on the meta device"} if ours else set())
        assert dict(evidence.measured) == {"head": "tied"} | dict.fromkeys(steps, "follows")


def test_finds_the_embedding_that_takes_the_ids() -> None:
    class PositionsFirst(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.position, self.token = nn.Embedding(T, V), nn.Embedding(V, V)

        def forward(self, ids: Tensor) -> Tensor:
            return self.position(torch.arange(ids.shape[1])) + self.token(ids)

    model = PositionsFirst()
    assert token_embedding(model, tiny_ids()) is model.token
    assert not model.token._forward_hooks


class Copied(NanoGPT):
    """As with a tie that clones, or that an init comes before."""

    def __init__(self) -> None:
        super().__init__()
        self.lm_head.weight = nn.Parameter(self.wte.weight.detach().clone())


class CopiedTransposed(NanoGPT):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Parameter(self.wte.weight.detach().T.clone())
        del self.lm_head
        self.lm_head: Any = lambda x: x @ self.out


class SharesData(NanoGPT):
    """Two parameters that look at one memory, until they are cast."""

    def __init__(self) -> None:
        super().__init__()
        self.lm_head.weight = nn.Parameter(torch.empty(V, D))
        self.lm_head.weight.data = self.wte.weight.data


class Closure(NanoGPT):
    """A copy's head goes on reading the original's embedding."""

    def __init__(self) -> None:
        super().__init__()
        del self.lm_head
        self.lm_head: Any = lambda x: F.linear(x, self.wte.weight)


class Untied(Small):
    """The config says that it is tied."""

    def __init__(self) -> None:
        super().__init__(tied=False)
        object.__setattr__(self.config, "tied", True)


class Tied(Small):
    """The config says that it is not tied."""

    def __init__(self) -> None:
        super().__init__(tied=True)
        self.config: Any = {"vocab_size": V, "context": T, "tied": False}


class MetaLost(Small):
    """Two modules share a parameter, which to_empty() makes two of."""

    def __init__(self) -> None:
        super().__init__(tied=False)
        assert self.net.head is not None
        self.net.head.weight = self.net.token.weight
        object.__setattr__(self.config, "tied", True)


TIES: dict[type[nn.Module], str] = {
    Copied: "lm_head.weight starts as a copy of the embedding and is not tied to it",
    CopiedTransposed: "out starts as a copy of the embedding and is not tied to it",
    SharesData: "tied as built, and no longer after copy.deepcopy, nor after .double(), nor after",
    Closure: "tied as built, and no longer after copy.deepcopy: two matrices",
    Untied: "the config says that the head is tied, and it is not",
    Tied: "the config says that the head is not tied, and it is",
    MetaLost: "tied as built, and no longer when built on the meta device",
}


@pytest.mark.parametrize("fault", TIES)
def test_sees_a_wrong_tie(fault: type[nn.Module]) -> None:
    evidence = tying(of(fault, ours=fault is MetaLost))
    assert TIES[fault] in evidence.problem
    assert evidence.remedy


class Late(NanoGPT):
    """Draws its head anew when a state is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.register_load_state_dict_post_hook(lambda *_: self.part())

    def part(self) -> None:
        self.lm_head.weight = nn.Parameter(self.wte.weight.detach().clone())


def test_sees_a_tie_that_is_lost_on_loading() -> None:
    problem = tying(of(Late)).problem
    assert "no longer after loading another's state, nor after loading it back: two matrices" in problem


class Nan(NanoGPT):
    def features(self, idx: Tensor) -> Tensor:
        return super().features(idx) * (torch.nan if self.wte.weight.dtype == torch.float64 else 1.0)


def test_nan_is_no_tie() -> None:
    assert "no longer after .double(): two matrices" in tying(of(Nan)).problem


class OneHot(Encoder):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(V, D))
        del self.embedding
        self.embedding: Any = lambda ids: F.one_hot(ids, V).to(self.table) @ self.table


def test_needs_an_embedding() -> None:
    with pytest.raises(LackingError, match="no token embedding to be found"):
        tying(of(OneHot))
