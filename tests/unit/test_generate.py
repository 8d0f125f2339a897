"""Generation against a loop of whole forwards: any prompts, with a cache and without, and past the context."""

from collections.abc import Sequence

import pytest
import torch

from blockproof.model.cache import Cache
from blockproof.model.config import ModelConfig
from blockproof.model.generate import generate, last_logits
from blockproof.model.position import POSITIONS
from blockproof.model.sampling import Sampling
from blockproof.model.transformer import Transformer
from blockproof.tests.contract.configs import CONFIGS
from blockproof.tests.helpers import T, V, randomise, tiny_ids, tiny_model

SAMPLED = Sampling(temperature=1.5, top_k=8, top_p=0.95)
UNEQUAL = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10, 0], [1, 2]]
cached_or_not = pytest.mark.parametrize("use_cache", [True, False])


def one_text(model: Transformer, prompt: Sequence[int], n_tokens: int) -> list[int]:
    """The likeliest token, time after time, of a whole forward of the last ``context`` tokens."""
    text = list(prompt)
    for _ in range(n_tokens):
        seen = torch.tensor([text[-model.config.context :]])
        text.append(max(range(V), key=model(seen)[0, -1].tolist().__getitem__))
    return text


@pytest.mark.parametrize(
    "config", [config for config in CONFIGS.values() if config.vocab_size == V][::3], ids=str
)
@cached_or_not
def test_every_config_goes_on_past_its_context(config: ModelConfig, use_cache: bool) -> None:
    model = randomise(Transformer(config)).double().eval()
    prompts = [[3, 1], [4]]
    texts = generate(model, prompts, config.context + 3, use_cache=use_cache)
    assert texts == [one_text(model, prompt, config.context + 3) for prompt in prompts]


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("length", [1, 2, T - 1, T])
@cached_or_not
def test_any_prompt_that_fits_goes_on(position: str, length: int, use_cache: bool) -> None:
    """One token below the context, and the whole of it, as well: only what is seen is cut."""
    model, prompts = tiny_model(position=position), tiny_ids(2, length).tolist()
    texts = generate(model, prompts, 4, use_cache=use_cache)
    assert texts == [one_text(model, prompt, 4) for prompt in prompts]


@pytest.mark.parametrize("position", POSITIONS)
@cached_or_not
def test_a_row_is_what_it_is_alone(position: str, use_cache: bool) -> None:
    """Of unequal length, past the context; and nothing is left from the texts before."""
    model = tiny_model(position=position)
    together = generate(model, UNEQUAL, 9, use_cache=use_cache)
    assert [len(text) for text in together] == [len(prompt) + 9 for prompt in UNEQUAL]
    assert together == [generate(model, [prompt], 9, use_cache=use_cache)[0] for prompt in UNEQUAL]
    assert together == generate(model, UNEQUAL, 9, use_cache=use_cache)


@pytest.mark.parametrize("position", POSITIONS)
def test_a_sample_is_the_same_with_and_without_a_cache(position: str) -> None:
    model = tiny_model(position=position)
    with_cache, without = (
        generate(model, UNEQUAL, 9, settings=SAMPLED, use_cache=use) for use in (True, False)
    )
    assert with_cache == without


@pytest.mark.parametrize("filled", range(1, T))
def test_a_cache_that_was_filled_outside_is_gone_on_with(filled: int) -> None:
    model, ids = tiny_model(), tiny_ids(1, T)
    cache = Cache(model.config)
    model(ids[:, :filled], cache)
    for length in range(filled + 1, T + 1):
        seen = ids[:, :length]
        torch.testing.assert_close(
            last_logits(model, seen, cache), model(seen)[:, -1], rtol=1e-12, atol=1e-12
        )
        assert cache.length == length


@pytest.mark.parametrize("filled", range(T))
def test_a_cache_takes_in_all_that_it_lacks(filled: int) -> None:
    """Not the last token alone, however many have come since."""
    model, ids = tiny_model(), tiny_ids(1, T)
    cache = Cache(model.config)
    if filled:
        model(ids[:, :filled], cache)
    torch.testing.assert_close(last_logits(model, ids, cache), model(ids)[:, -1], rtol=1e-12, atol=1e-12)
    assert cache.length == T


def test_a_sample_depends_on_its_seed_and_row_alone() -> None:
    model = tiny_model()

    def texts(*prompts: list[int], seed: int = 0) -> list[list[int]]:
        return generate(model, prompts, 9, settings=SAMPLED, seed=seed)

    first, second, third = texts([1, 2], [1, 2], [3, 4, 5])
    assert first != second
    assert texts([1, 2], [6], [3, 4, 5])[::2] == [first, third]
    assert texts([1, 2]) == [first]
    assert texts([1, 2], [1, 2], [3, 4, 5]) == [first, second, third]
    assert texts([1, 2], seed=1) != [first]
