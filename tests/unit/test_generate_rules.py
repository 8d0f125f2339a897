"""What generation promises besides its tokens, on a model whose next token is scripted."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from blockproof.model.cache import Cache
from blockproof.model.generate import generate
from blockproof.model.sampling import Sampling
from blockproof.model.transformer import InputError, Transformer
from blockproof.tests.helpers import T, V, copies, dropping, same, tiny_config, tiny_model

STOP, CONTEXT = 10, 9
SAMPLED = Sampling(temperature=1.5, top_k=8, top_p=0.95)
cached_or_not = pytest.mark.parametrize("use_cache", [True, False])


class Scripted(Transformer):
    """Wants ``token(row, place)`` at each place, if ``sure``, else any; keeps what it was given last, and sizes."""

    def __init__(self, token: Callable[[int, int], int], sure: float = 50.0) -> None:
        super().__init__(tiny_config(context=CONTEXT))
        self.wanted, self.sure, self.given = token, sure, list[tuple[int, ...]]()
        self.last: list[list[int]] = []

    def forward(self, ids: Tensor, cache: Cache | None = None) -> Tensor:
        assert not torch.is_grad_enabled()
        rows, length = ids.shape
        self.given.append((rows, length))
        self.last = ids.tolist()
        start = 0
        if cache is not None:
            start, cache.length = cache.length, cache.length + length
        wanted = [[self.wanted(row, start + t + 1) for t in range(length)] for row in range(rows)]
        return self.sure * torch.nn.functional.one_hot(torch.tensor(wanted), V).float()


def ends_at(*places: int) -> Scripted:
    """Row by row the place at which it wants to stop; 5 before and after it."""
    return Scripted(lambda row, place: STOP if place == places[row] else 5)


@cached_or_not
@pytest.mark.parametrize("settings", [Sampling(temperature=0.0), Sampling(temperature=1.0)])
def test_each_row_ends_by_itself_and_then_the_work_does(use_cache: bool, settings: Sampling) -> None:
    """The token that stops is the last one; five forwards, though eight tokens were allowed."""
    model = ends_at(3, 5, 2)
    texts = generate(model, [[1], [2], [3]], 8, stop=STOP, settings=settings, use_cache=use_cache)
    assert texts == [[1, 5, 5, STOP], [2, 5, 5, 5, 5, STOP], [3, 5, STOP]]
    assert model.given == [(3, 1)] * 5 if use_cache else model.given == [(3, n) for n in range(1, 6)]


def test_rows_that_never_stop_end_with_their_number() -> None:
    model = ends_at(2, 99, 4)
    texts = generate(model, [[1], [2, 2], [3, 3, 3]], 3, stop=STOP)
    assert texts == [[1, 5, STOP], [2, 2, 5, 5, 5], [3, 3, 3, 5, STOP]]
    assert model.given == [(3, 1)] * 4  # places 1 to 4; the third row's sixth token is not worked out


def test_a_stop_that_is_the_first_or_the_last_token() -> None:
    model = ends_at(1, 3)
    assert generate(model, [[1], [1]], 3, stop=STOP) == [[1, STOP], [1, 5, 5, STOP]]
    assert len(model.given) == 3


def test_a_stop_in_a_prompt_ends_nothing() -> None:
    """Neither at its start, nor where it runs beside the shortest one, nor at its end."""
    prompts = [[STOP], [STOP, 1, STOP], [1, STOP]]
    texts = generate(ends_at(4, 4, 4), prompts, 9, stop=STOP)
    assert texts == [[STOP, 5, 5, 5, STOP], [STOP, 1, STOP, 5, STOP], [1, STOP, 5, 5, STOP]]


def test_without_a_stop_every_token_is_one_like_another() -> None:
    model = ends_at(2, 2)
    assert generate(model, [[1], [2]], 3) == [[1, 5, STOP, 5], [2, 5, STOP, 5]]
    assert len(model.given) == 3


@cached_or_not
def test_a_prompt_that_runs_takes_its_own_tokens(use_cache: bool) -> None:
    """Though the model wants others; the first forward is of the shortest prompt."""
    model = Scripted(lambda row, place: 7 + row)
    texts = generate(model, [[1, 2], [3, 4, 0, 6, 1], [2, 3, 4]], 2, use_cache=use_cache)
    assert texts == [[1, 2, 7, 7], [3, 4, 0, 6, 1, 8, 8], [2, 3, 4, 9, 9]]
    assert model.given == [(3, 2), *((3, 1 if use_cache else n) for n in range(3, 7))]


@cached_or_not
def test_past_the_context_its_last_tokens_are_seen(use_cache: bool) -> None:
    """From the step on at which there is one too many, not before."""
    model = Scripted(lambda row, place: 4)
    assert generate(model, [[1] * (CONTEXT - 2)], 5, use_cache=use_cache) == [[1] * (CONTEXT - 2) + [4] * 5]
    assert model.last == [[1] * (CONTEXT - 4) + [4] * 4]
    last = [1, 1] if use_cache else [CONTEXT - 1, CONTEXT]
    assert [length for _, length in model.given] == [CONTEXT - 2, *last, CONTEXT, CONTEXT]


@cached_or_not
def test_no_tokens_and_no_prompts_are_no_work(use_cache: bool) -> None:
    model, prompts = Scripted(lambda row, place: 4), [[1, 2], [STOP]]
    texts = generate(model, prompts, 0, stop=STOP, use_cache=use_cache)
    assert texts == prompts
    assert texts[0] is not prompts[0]
    assert generate(model, [], 5, use_cache=use_cache) == []
    assert model.given == []


def test_rows_draw_apart_from_each_other() -> None:
    """2000 rows, all tokens alike: each as often as it should be within 5 standard deviations, and twice too."""
    model = Scripted(lambda row, place: 0, sure=0.0)
    pairs = [text[1:] for text in generate(model, [[0]] * 2000, 2, settings=Sampling())]
    counts = [sum(pair[place] == token for pair in pairs) for place in range(2) for token in range(V)]
    spread = (2000 / V * (1 - 1 / V)) ** 0.5
    for count in (*counts, sum(a == b for a, b in pairs)):
        assert abs(count - 2000 / V) < 5 * spread


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("settings", [Sampling(temperature=0.0), SAMPLED])
def test_leaves_no_trace(mode: bool, settings: Sampling) -> None:
    """Modules in different modes are all back in theirs, and dropout is off meanwhile."""
    model = tiny_model(**dropping(0.5), embedding_dropout=0.5)
    quiet = generate(model, [[1, 2]], 9, settings=settings)
    model.train(mode)
    model.blocks[0].train(not mode)
    modes = [part.training for part in model.modules()]
    before, state, prompt = copies(model), torch.get_rng_state(), [1, 2]
    assert generate(model, [prompt], 9, settings=settings) == quiet
    assert prompt == [1, 2]
    assert [part.training for part in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert same(copies(model), before)
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())


def test_a_failure_leaves_no_trace() -> None:
    model = Scripted(lambda row, place: 1 // (5 - place)).train()
    with pytest.raises(ZeroDivisionError):
        generate(model, [[1, 2]], 9)
    assert all(part.training for part in model.modules())
    assert torch.is_grad_enabled()


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ([[1], []], {}, "prompt 1 is empty: begin it with a token"),
    ([[1], [2] * (T + 1)], {}, rf"prompt 1: the sequence has {T + 1} tokens, the context holds {T}: crop it"),
    ([[1, V]], {}, f"prompt 0: token id {V} is outside the vocabulary 0 … {V - 1}"),
    ([[1], [-1]], {}, "prompt 1: token id -1 is outside the vocabulary"),
    ([[1.0]], {}, "prompt 0 must be a sequence of integer token ids: 'float' object"),
    (["ab"], {}, "prompt 0 must be a sequence of integer token ids: 'str' object"),
    ([1, 2], {}, "prompt 0 must be a sequence of integer token ids: 'int' object"),
    ([[1]], {"n_tokens": -1}, "n_tokens must be 0 or more, got -1"),
    ([[1]], {"stop": V}, f"token id {V} is outside the vocabulary"),
]


@pytest.mark.parametrize(("prompts", "fields", "message"), WRONG)
@pytest.mark.parametrize("n_tokens", [0, 3])
def test_refuses(prompts: Any, fields: dict[str, Any], message: str, n_tokens: int) -> None:
    with pytest.raises(InputError, match=message):
        generate(tiny_model(), prompts, **{"n_tokens": n_tokens, **fields})


def test_takes_tensors_as_prompts() -> None:
    model, ids = tiny_model(), torch.tensor([[1, 2, 3], [4, 5, 6]])
    assert generate(model, ids, 2) == generate(model, ids.tolist(), 2)  # type: ignore[arg-type]
