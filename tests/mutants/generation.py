"""Decoding: temperature, top-k and top-p at their ends, crops, stops, seeds, and ids that no text has."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

KEPT = "unit/test_sampling.py::test_what_is_kept"
ENDS = "unit/test_sampling.py::test_the_ends_of_every_limit"
ROWS = "unit/test_generate_rules.py::test_each_row_ends_by_itself_and_then_the_work_does"
PAST = "unit/test_generate_rules.py::test_past_the_context_its_last_tokens_are_seen"
REFUSED = "unit/test_generate_rules.py::test_refuses"
GREEDY = "none: greedy decoding of a short prompt is right"
TYPICAL = "none: usual settings give a fine text"

COLD = "((ranked - ranked[0]) / settings.temperature)"
TOP_K = "p[settings.top_k :] = 0.0\n        p /= p.sum()"
TOP_P = "p[1:][reached[:-1]] = 0.0"
CROP = "return model(ids[:, -context:])[:, -1]"
STEP = "return model(ids[:, cache.length :], cache)[:, -1]"
OVER = "while not all(row.ended for row in rows):"
KNOWN = """if unknown := [character for character in text if character not in places]:
        raise InputError(
            f"the model's vocabulary has no character {unknown[0]!r}; it has: {''.join(alphabet)!r}"
        )
    return [places[character] for character in text]"""
ENDED = "        if self.ended:\n            return self.text[-1]\n"


def sampling(old: str, new: str) -> tuple[Patch]:
    """A change in the choice of a token."""
    return (Patch("model.sampling", old, new),)


def generate(old: str, new: str) -> tuple[Patch]:
    """A change in the file of generation."""
    return (Patch("model.generate", old, new),)


def text(old: str, new: str) -> tuple[Patch]:
    """A change in what turns characters into ids and back."""
    return (Patch("model.text", old, new),)


MUTANTS = (
    Mutant(
        "logits are divided by a temperature of 0",
        ("S01",), ("suno-ai/bark#270",),
        sampling("if settings.temperature == 0.0:", "if settings.temperature < 0.0:"),
        "unit/test_sampling.py::test_no_temperature_takes_the_first_of_the_largest_and_draws_nothing", TYPICAL,
    ),
    Mutant(
        "large logits over a low temperature overflow",
        ("S01",), ("Lightning-AI/litgpt#401",), sampling(COLD, "(ranked / settings.temperature)"),
        "unit/test_sampling.py::test_nearly_no_temperature_is_finite_and_greedy", TYPICAL,
    ),
    Mutant(
        "the temperature multiplies",
        (), (), sampling(COLD, "((ranked - ranked[0]) * settings.temperature)"),
        "unit/test_sampling.py::test_nearly_no_temperature_is_finite_and_greedy", TYPICAL,
    ),
    Mutant(
        "top-k reads the last logit that it keeps",
        ("S02",), ("TransformerLensOrg/TransformerLens#1347",),
        sampling(TOP_K, "p[p < p[settings.top_k - 1]] = 0.0\n        p /= p.sum()"),
        ENDS, TYPICAL,
    ),
    Mutant(
        "top-k keeps one more",
        ("S02",), ("google-deepmind/gemma#789",), sampling("p[settings.top_k :]", "p[settings.top_k + 1 :]"),
        KEPT, TYPICAL,
    ),
    Mutant(
        "top-p keeps one more where it is reached exactly",
        ("S03",), ("ml-explore/mlx-lm#1912",),
        sampling("p.cumsum(dim=0) >= settings.top_p - ROUNDING", "p.cumsum(dim=0) > settings.top_p + ROUNDING"),
        KEPT, TYPICAL,
    ),
    Mutant(
        "top-p leaves out the token that reaches it",
        ("S03",), ("BlinkDL/ChatRWKV#170",), sampling(TOP_P, "p[1:][reached[1:]] = 0.0"), KEPT, TYPICAL,
    ),
    Mutant(
        "a small top-p masks every token",
        ("S03",), ("huggingface/transformers#18976",), sampling(TOP_P, "p[reached] = 0.0"), KEPT, TYPICAL,
    ),
    Mutant(
        "top-p reads what top-k left without its sum",
        ("S04",), ("ml-explore/mlx-lm#388",), sampling(TOP_K, "p[settings.top_k :] = 0.0"), KEPT, TYPICAL,
    ),
    Mutant(
        "the crop is one token too short",
        ("S05",), ("Lightning-AI/lit-llama#248",),
        generate(CROP, "return model(ids[:, -max(1, context - 1) :])[:, -1]"),
        PAST, GREEDY,
    ),
    Mutant(
        "the crop keeps the beginning",
        ("S05",), ("Lightning-AI/lit-llama#248",), generate(CROP, "return model(ids[:, :context])[:, -1]"),
        PAST, GREEDY,
    ),
    Mutant(
        "a prompt that is too long is cropped in silence",
        ("S06",), ("openai/gpt-2#121",),
        generate(
            "check_ids(torch.tensor([ids]), model.config)",
            "check_ids(torch.tensor([ids[-model.config.context :]]), model.config)",
        ),
        REFUSED, GREEDY,
    ),
    Mutant(
        "the token after all but the last place",
        ("S07",), ("karpathy/nanoGPT#42",), generate(STEP, "return model(ids[:, cache.length :], cache)[:, 0]"),
        "unit/test_generate.py::test_any_prompt_that_fits_goes_on", "none: one token at a time is right",
    ),
    Mutant(
        "rows that have ended go on",
        ("S09",), ("lucidrains/h-transformer-1d#9",), generate(ENDED, ""), ROWS, "none: one row ends rightly",
    ),
    Mutant(
        "all rows end with the first",
        ("S09",), ("mistralai/mistral-inference#270",), generate(OVER, "while not any(row.ended for row in rows):"),
        ROWS, "none: one row ends rightly",
    ),
    Mutant(
        "no stop ends a row",
        ("S10",), ("Lightning-AI/lit-llama#130",), generate("chosen == self.stop or ", ""),
        ROWS, "none: without a stop it is the same",
    ),
    Mutant(
        "the work goes on when all rows have ended",
        ("S10",), ("google/gemma_pytorch#57",),
        generate(OVER, "while ids.shape[1] < max(row.longest for row in rows):"),
        ROWS, "none: the texts are right",
    ),
    Mutant(
        "a stop in a prompt ends its row",
        ("C06",), ("huggingface/transformers#17426",),
        generate("self.ended = n_tokens == 0", "self.ended = n_tokens == 0 or stop in prompt"),
        "unit/test_generate_rules.py::test_a_stop_in_a_prompt_ends_nothing", "none: prompts rarely hold it",
    ),
    Mutant(
        "the row's next token is read behind its padding",
        ("C03",), ("huggingface/transformers#3167",),
        generate(
            "row.text[: min(len(row.text) for row in rows)]",
            "(row.text * 99)[: max(len(row.text) for row in rows)]",
        ),
        "unit/test_generate.py::test_a_row_is_what_it_is_alone", "none: prompts of one length are right",
    ),
    Mutant(
        "rows draw from one stream",
        ("C04",), ("huggingface/transformers#10289",), generate('f"{seed}/{number}"', 'f"{seed}"'),
        "unit/test_generate_rules.py::test_rows_draw_apart_from_each_other", "none: one row is right",
    ),
    Mutant(
        "the seed of a sample does nothing",
        ("X01",), ("jina-ai/finetuner#252",), generate('f"{seed}/{number}"', 'f"{number}"'),
        "unit/test_generate.py::test_a_sample_depends_on_its_seed_and_row_alone", TYPICAL,
    ),
    Mutant(
        "tokens are drawn from torch's global state",
        ("N08",), ("karpathy/char-rnn#17",), sampling(", 1, generator=generator", ", 1"),
        "unit/test_generate_rules.py::test_leaves_no_trace", TYPICAL,
    ),
    Mutant(
        "the caller's prompt grows",
        ("Q01",), ("thuanz123/enhancing-transformers#11",),
        generate(
            "ids = [index(token) for token in prompt]",
            "ids = prompt if isinstance(prompt, list) else [index(token) for token in prompt]",
        ),
        "unit/test_generate_rules.py::test_leaves_no_trace", TYPICAL,
    ),
    Mutant(
        "a character that is not known becomes the first one",
        ("T01",), ("gau-nernst/quantized-training#1",),
        text(KNOWN, "return [places.get(character, 0) for character in text]"),
        "unit/test_text.py::test_what_is_refused", TYPICAL,
    ),
    Mutant(
        "an id beyond the alphabet is drawn as its last character",
        ("T04",), ("Blaizzy/mlx-vlm#1917",),
        text('alphabet[each] if each < len(alphabet) else "�"', "alphabet[min(each, len(alphabet) - 1)]"),
        "unit/test_text.py::test_ids_that_no_text_has", TYPICAL,
    ),
)  # fmt: skip
