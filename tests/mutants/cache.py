"""Keys and values that are kept: masks of pieces, places, what is dropped, fed twice or left over."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

WHOLE = "unit/test_cache.py::test_every_step_equals_the_whole"
PIECES = "unit/test_cache.py::test_a_piece_does_not_see_its_own_future"
ENTRIES = "unit/test_cache_entries.py::test_new_entries_stand_behind_the_old_ones"
FILLED = "unit/test_generate.py::test_a_cache_that_was_filled_outside_is_gone_on_with"
PAST = "unit/test_generate.py::test_every_config_goes_on_past_its_context"
NONE = "none: without a cache all is right"
ONE = "none: one token at a time hides it"

KEPT = "self.keys, self.values = keys, values"
JOINED = "torch.cat([self.keys, keys], dim=2)"
TOLD = "k, v = (k, v) if past is None else past.append(k, v)"
TURNED = "q, k = position.rotate(q, queries), position.rotate(k, queries)"
STEP = "return model(ids[:, cache.length :], cache)[:, -1]"
FULL = "if cache is None or ids.shape[1] > context:"
MADE = "cache = Cache(model.config) if use_cache else None"
SLID = """if cache is not None and ids.shape[1] > context:
        for past in cache.layers:
            past.keys, past.values = past.keys[:, :, 1 - context :], past.values[:, :, 1 - context :]
        cache.length = context - 1
        return model(ids[:, -1:], cache)[:, -1]
    if cache is None:"""


def attention(old: str, new: str) -> tuple[Patch]:
    """A change in the file of attention."""
    return (Patch("model.attention", old, new),)


def entries(old: str, new: str) -> tuple[Patch]:
    """A change in the file of the cache."""
    return (Patch("model.cache", old, new),)


def generate(old: str, new: str) -> tuple[Patch]:
    """A change in the file of generation."""
    return (Patch("model.generate", old, new),)


MUTANTS = (
    Mutant(
        "the kernel's mask stands at the top left",
        ("H01",), ("pytorch/pytorch#103082",),
        attention("if past is not None and mask is None:", "if past is not None and mask is None and False:"),
        WHOLE, NONE,
    ),
    Mutant(
        "the mask of a piece counts from its own first row",
        ("H02", "H07"), ("onnx/onnx#8068", "trymirai/lalamo#200"),
        attention("future(queries, keys)\n", "future(queries - start, keys)\n"),
        WHOLE, NONE,
    ),
    Mutant(
        "a piece sees its own future",
        ("H01",), ("Dao-AILab/flash-attention#282",),
        attention("future(queries, keys)\n", "future(queries * 0 + keys[-1], keys)\n"),
        PIECES, ONE,
    ),
    Mutant(
        "a piece is told the places of a text's beginning",
        ("H10",), ("huggingface/transformers#36151",),
        attention("queries = keys[start:]", "queries = keys[: x.shape[1]]"),
        WHOLE, NONE,
    ),
    Mutant(
        "new entries stand before the old ones",
        ("H03",), ("lucidrains/x-transformers#219",), entries(JOINED, "torch.cat([keys, self.keys], dim=2)"),
        ENTRIES, NONE,
    ),
    Mutant(
        "new values stand before the old ones",
        ("H03",), ("lucidrains/x-transformers#219",),
        entries("torch.cat([self.values, values], dim=2)", "torch.cat([values, self.values], dim=2)"),
        ENTRIES, NONE,
    ),
    Mutant(
        "places start at 0 again with every piece",
        ("H04",), ("ml-explore/mlx-lm#93",),
        (Patch("model.transformer", "places = start + torch.arange", "places = torch.arange"),),
        WHOLE, NONE,
    ),
    Mutant(
        "a piece counts as one token",
        ("H04",), ("huggingface/transformers#15751",),
        (Patch("model.transformer", "cache.length += ids.shape[1]", "cache.length += 1"),),
        WHOLE, ONE,
    ),
    Mutant(
        "a full cache drops its oldest entry and keeps the others' places",
        ("H05",), ("clankur/einygpt#2",), generate(FULL, SLID), PAST, "none: short texts never fill it",
    ),
    Mutant(
        "a full cache keeps one entry too many",
        ("H05",), ("clankur/einygpt#2",), generate(FULL, SLID.replace("1 - context :]", "-context:]")),
        PAST, "none: short texts never fill it",
    ),
    Mutant(
        "the cache is not cleared between texts",
        ("H06",), ("Lightning-AI/litgpt#1596",),
        generate(
            MADE,
            'cache = model.__dict__.setdefault("kept", Cache(model.config)) if use_cache else None\n'
            "    if cache is not None:\n"
            "        cache.length = 0",
        ),
        "unit/test_generate_rules.py::test_leaves_no_trace", "none: the first text is right",
    ),
    Mutant(
        "what was kept is left in the model",
        ("H06",), ("deepspeedai/DeepSpeed#2669",),
        (
            Patch(
                "model.transformer",
                "pasts = [None] * len(self.blocks) if cache is None else cache.layers",
                'self.kept = cache or getattr(self, "kept", None)\n'
                "        pasts = [None] * len(self.blocks) if cache is None else cache.layers",
            ),
        ),
        "unit/test_cache_entries.py::test_nothing_is_left_in_the_model", "none: logits are right",
    ),
    Mutant(
        "the last entry is always dropped",
        ("H08",), ("UChi-JCL/CacheGen#8",),
        entries(KEPT, "self.keys, self.values = keys[:, :, :-1], values[:, :, :-1]"),
        ENTRIES, NONE,
    ),
    Mutant(
        "the last token is fed again",
        ("H09",), ("huggingface/transformers#1749",),
        generate(STEP, "return model(ids[:, max(0, cache.length - 1) :], cache)[:, -1]"),
        FILLED, NONE,
    ),
    Mutant(
        "the length is not that of what was consumed",
        ("H09",), ("huggingface/transformers#1749",),
        (
            Patch(
                "model.transformer",
                "cache.length += ids.shape[1]",
                "cache.length = max(past.length for past in cache.layers)",
            ),
        ),
        "unit/test_cache.py::test_without_attention_places_are_counted_all_the_same",
        "none: with attention it is right",
    ),
    Mutant(
        "a cache that was filled outside is taken for empty",
        ("H10",), ("huggingface/transformers#47597",),
        generate(STEP, "return model(ids[:, -1:] if cache.layers[0].keys is not None else ids, cache)[:, -1]"),
        "unit/test_generate.py::test_a_cache_takes_in_all_that_it_lacks", ONE,
    ),
    Mutant(
        "kept keys are turned again at every step",
        ("G04",), ("lucidrains/x-transformers#182",),
        attention(
            f"{TURNED}\n        {TOLD}",
            f"{TOLD}\n        q, k = position.rotate(q, queries), position.rotate(k, keys)\n"
            "        if past is not None:\n            past.keys = k",
        ),
        "unit/test_cache_entries.py::test_keys_are_kept_as_they_are_turned", NONE,
    ),
    Mutant(
        "keys are kept for every head of queries",
        ("E11",), ("onnx/onnx#7274",),
        attention(
            f"{TOLD}\n",
            "k, v = k.repeat_interleave(self.sharing, 1), v.repeat_interleave(self.sharing, 1)\n"
            f"        {TOLD}\n        k, v = k[:, :: self.sharing], v[:, :: self.sharing]\n",
        ),
        "unit/test_cache_entries.py::test_holds_the_heads_of_keys_and_values_and_no_more", "none: logits are right",
    ),
)  # fmt: skip
