"""Windows, splits and seeds: what training may not see, what it must see, and what draws what."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

APART = "unit/test_corpus.py::test_training_and_validation_are_apart"
SPREAD = "unit/test_corpus.py::test_windows_are_spread_without_overlap"
NAMED = "unit/test_corpus.py::test_refuses_another_text_and_a_short_one"
HELD = "unit/test_synthetic.py::test_no_training_seed_draws_the_validation_windows"
SAME = "unit/test_synthetic.py::test_validation_is_the_same_for_every_seed"
FALLS, FINITE = "training_lowers_the_loss", "evaluation_is_finite"
LOW = "none: every loss only becomes lower"
TAUGHT = "none: it is learnt all the same"

TOKENS = "tokens = corpus.tokens\n"
SPLIT = "self.training, held_out = tokens[:cut], tokens[cut:]"
STARTS = "torch.randint(len(self.training) - self.context, (size, 1), generator=generator)"
SHORT = "min(len(held_out), cut) <= context"


def corpus(old: str, new: str) -> tuple[Patch]:
    """A change in the file of texts."""
    return (Patch("model.corpus", old, new),)


def synthetic(old: str, new: str) -> tuple[Patch]:
    """A change in the file of the order task."""
    return (Patch("model.synthetic", old, new),)


MUTANTS = (
    Mutant(
        "every batch is the first one",
        ("M01",), ("pytorch/pytorch#5059",),
        (
            Patch(
                "model.trainer",
                "self.source.batch(self.config.batch_size, self.generator)",
                "self.source.batch(self.config.batch_size, Generator().manual_seed(self.generator.initial_seed()))",
            ),
        ),
        "unit/test_trainer.py::test_batches_come_one_after_the_other", FALLS,
    ),
    Mutant(
        "the seed of the data does nothing",
        ("M02",), ("Lightning-AI/pytorch-lightning#20412",),
        (Patch("model.trainer", "Generator().manual_seed(data_seed)", "Generator()"),),
        "unit/test_train.py::test_data_seed_decides_the_batches", FALLS,
    ),
    Mutant(
        "the validation text is part of the training text",
        ("M03",), ("ai-forever/ru-gpts#23",), corpus(SPLIT, "self.training, held_out = tokens, tokens[cut:]"),
        APART, LOW,
    ),
    Mutant(
        "the text is split after it was doubled",
        ("M04",), ("MakazhanAlpamys/Soup#680",), corpus(TOKENS, "tokens = corpus.tokens.repeat(2)\n"), APART, LOW,
    ),
    Mutant(
        "the split moves with the length of the context",
        ("M05",), ("kyegomez/OpenMythos#15",),
        corpus(
            "cut = len(tokens) - int(len(tokens) * VALIDATION_SHARE)",
            "cut = len(tokens) - int(len(tokens) * VALIDATION_SHARE) - context",
        ),
        APART, LOW,
    ),
    Mutant(
        "the split is drawn anew",
        ("M06",), ("IndicoDataSolutions/finetune#265",),
        corpus(TOKENS, "tokens = corpus.tokens.roll(int(torch.randint(1, len(corpus.tokens), ())))\n"),
        APART, LOW,
    ),
    Mutant(
        "training draws from the stream of the validation",
        ("M06",), ("edgarsmdn/MLCE_book#4",),
        synthetic("Generator().manual_seed(VALIDATION_SEED)", "Generator().manual_seed(0)"),
        HELD, FALLS,
    ),
    Mutant(
        "validation windows are drawn anew for each source",
        ("M06",), ("IndicoDataSolutions/finetune#265",),
        synthetic(
            "Generator().manual_seed(VALIDATION_SEED)",
            "Generator().manual_seed(int(torch.randint(2**30, ())))",
        ),
        SAME, FALLS,
    ),
    Mutant(
        "validation is of whatever text is at hand",
        ("M07",), ("karpathy/nanochat#541",), corpus("if corpus.sha256 != data.sha256:", "if not corpus.sha256:"),
        NAMED, LOW,
    ),
    Mutant(
        "the end of the training text is never drawn",
        ("M08",), ("karpathy/build-nanogpt#109",),
        corpus(STARTS, STARTS.replace("self.context, (", "2 * self.context, (")),
        APART, TAUGHT,
    ),
    Mutant(
        "the last start of a window is never drawn",
        ("M08",), ("karpathy/build-nanogpt#109",),
        corpus(STARTS, STARTS.replace("self.context, (", "self.context - 1, (")),
        APART, TAUGHT,
    ),
    Mutant(
        "ids are kept in a type that is too small",
        ("M09",), ("huggingface/transformers#2825",),
        corpus(SPLIT, f"{SPLIT.replace('tokens[:cut]', 'tokens[:cut].to(torch.uint8).long()')}"),
        APART, TAUGHT,
    ),
    Mutant(
        "targets of validation windows overlap",
        ("M11",), ("zhouhaoyi/Informer2020#297",),
        corpus("chosen[:, None] * context", "chosen[:, None] * (context - 1)"),
        SPREAD, FINITE,
    ),
    Mutant(
        "validation reads the first windows alone",
        ("M07",), ("karpathy/nanochat#541",),
        corpus(
            "torch.linspace(0, available - 1, min(windows, available)).long()",
            "torch.arange(min(windows, available))",
        ),
        SPREAD, FINITE,
    ),
    Mutant(
        "a text that holds no window of validation passes",
        ("T03",), ("Joluck/RWKV-PEFT#52",), corpus(SHORT, SHORT.replace("<=", "<")), NAMED, FINITE,
    ),
    Mutant(
        "a text that holds one window of validation is refused",
        ("T03",), ("Joluck/RWKV-PEFT#52",), corpus(SHORT, SHORT.replace("<= context", "<= context + 1")),
        NAMED, FINITE,
    ),
    Mutant(
        "the vocabulary is rounded up",
        ("T04",), ("tenstorrent/tt-metal#17195",),
        corpus("self.vocab_size = len(corpus.alphabet)", "self.vocab_size = -(-len(corpus.alphabet) // 64) * 64"),
        "unit/test_corpus.py::test_the_vocabulary_is_the_alphabet", FINITE,
    ),
    Mutant(
        "batches are drawn from torch's global state",
        ("N08",), ("karpathy/char-rnn#17",), corpus(STARTS, STARTS.replace(", generator=generator", "")),
        "unit/test_corpus.py::test_batches_follow_the_generator", FALLS,
    ),
    Mutant(
        "the blind loss counts the validation text",
        ("M03",), ("ai-forever/ru-gpts#23",),
        corpus("torch.bincount(self.training,", "torch.bincount(self.held_out.flatten(),"),
        "unit/test_corpus.py::test_blind_loss_by_hand", FINITE,
    ),
    Mutant(
        "every chain is the same",
        ("M02",), ("Lightning-AI/pytorch-lightning#20412",),
        (Patch("model.markov", "CHAIN_SEED + seed", "CHAIN_SEED"),),
        "unit/test_markov.py::test_chain_seed_alone_decides_the_table", TAUGHT,
    ),
    Mutant(
        "a chain's windows all begin with one gram",
        (), (), (Patch("model.markov", "_pick(self.first, draws[0])", "_pick(self.first, draws[0] * 0)"),),
        "unit/test_markov.py::test_every_place_has_the_stationary_law", TAUGHT,
    ),
    Mutant(
        "a floor is the entropy of one token fewer",
        (), (), (Patch("model.markov", "torch.arange(1, context + 1)", "torch.arange(context)"),),
        "unit/test_markov.py::test_floors_are_the_sums_over_all_windows", TAUGHT,
    ),
    Mutant(
        "only the answers to the first question are right",
        ("D05",), ("lukas-blecher/LaTeX-OCR#305",), synthetic("order.gather(1, place)", "order[:, :1]"),
        "unit/test_synthetic.py::test_answers_are_right", FALLS,
    ),
    Mutant(
        "the question counts as well as its answer",
        ("D05",), ("EleutherAI/aria#40",), synthetic("first_target=self.symbols + 1", "first_target=self.symbols"),
        "unit/test_synthetic.py::test_answers_are_right", FALLS,
    ),
    Mutant(
        "the token at a distance is one place too near",
        ("A04",), ("RVC-Boss/GPT-SoVITS#965",),
        (
            Patch(
                "model.recall",
                "targets[:, self.offset :] = inputs[:, : -self.offset]",
                "targets[:, self.offset :] = inputs[:, 1 : 1 - self.offset or None]",
            ),
        ),
        "unit/test_recall.py::test_offset_asks_for_the_token_so_far_back", TAUGHT,
    ),
)  # fmt: skip
