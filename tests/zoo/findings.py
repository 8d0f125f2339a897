"""What is red on models as they are published, and rightly so: each by name, with the cause in its source."""

# Architectures whose ``labels`` are those of the same place: whoever calls shifts them. The name alone, which
# is what a model of yours is judged by, says the contrary; ``--label-shift before`` tells.
SHIFTED_BEFORE = frozenset(
    (
        "bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "cpmant", "marian", "mbart", "mvp", "pegasus",
        "plbart", "prophetnet", "trocr", "whisper", "xlm", "xlnet",
    )
)  # fmt: skip

LABELS = "loss_asks_for_the_next_token"
IGNORED = "ignored_labels_give_neither_loss_nor_gradient"
PAST = "every_output_depends_on_the_past"
FUTURE = "no_output_depends_on_the_future"
FULL = "no_output_depends_on_the_future_at_full_context"
PREFIX = "a_longer_sequence_changes_nothing_at_its_beginning"
PADDING = "masked_padding_changes_nothing"
START = "loss_starts_near_that_of_a_guess"
LEARNS = "every_parameter_learns"
FLOOR = "learns_a_tiny_batch_to_its_floor"
CACHE = "decoding_with_a_cache_equals_the_whole_forward"
TIED = "head_and_embedding_are_one_or_two"

CROSS = {LEARNS: "the attention to an encoder is built, and has nothing to read when the decoder is alone"}
SENSES = {LEARNS: "what reads images or sound is built, and has nothing to read where there is text alone"}
INDEXER = {
    LEARNS: "the indexer that chooses keys is trained by a loss of its own: no gradient gets through top-k"
}
POOLER = {LEARNS: "the pooler is built for the classifier, and no language model uses it"}

# By architecture, why each check is red; all others are green.
FINDINGS: dict[str, dict[str, str]] = {
    **dict.fromkeys(
        (
            "bart", "blenderbot", "blenderbot-small", "marian", "mbart", "mvp", "pegasus", "plbart", "trocr",
            "whisper",
        ),
        CROSS,
    ),
    **dict.fromkeys(("fuyu", "gemma3", "got_ocr2", "moss_transcribe_diarize", "phi4_multimodal"), SENSES),
    **dict.fromkeys(("qwen4_exp", "qwen4_exp_text"), INDEXER),
    **dict.fromkeys(("axk2", "deepseek_v32", "glm_moe_dsa", "hy_v4"), INDEXER),
    "bamba": {CACHE: "positions start at 0 in every call: those of the cache are not counted (BambaModel.forward)"},
    "big_bird": POOLER,
    "bigbird_pegasus": CROSS
    | {TIED: "the config says tied, and the class names no weights to tie (BigBirdPegasusForCausalLM)"},
    "cpmant": {
        **dict.fromkeys(
            (FUTURE, FULL, PREFIX, FLOOR),
            "context is all ones, so that the mask lets every place see all (CpmAntModel.forward)",
        ),
        CACHE: "earlier tokens read later ones, which a cache never goes back to",
        **dict.fromkeys((PAST, PADDING), "the id 0 is taken for padding wherever it stands, and hidden from all"),
        START: "all weights start at a deviation of 1 (init_std)",
    },
    "deepseek_v4": INDEXER
    | {PADDING: "windows are compressed from the first column on, padding on the left or not (in its compressors)"},
    "inkling2_loop_text": {LEARNS: "message_input chooses among one state, as there is one block in so small a loop"},
    "moshi": {CACHE: "the cache slides by its window, the mask of the whole forward does not (create_causal_mask)"},
    "prophetnet": CROSS
    | {
        **dict.fromkeys(
            (FUTURE, PREFIX, PADDING, CACHE, FLOOR),
            "biases are of other places' queries: laid out as (B, T, ngram, H) by permute(0, 2, 1, 4, 3), read "
            "as (B, ngram, H, T) (ProphetNetNgramSelfAttention.get_predict_relative_pos_embeddings)",
        ),
        FULL: "the stream that predicts needs a position more than the table has",
        **dict.fromkeys((LABELS, IGNORED), "the loss is the mean of two streams, one of which gives the logits"),
    },
    "recurrent_gemma": {PADDING: "convolution and recurrence take no attention_mask: padding on the left runs in"},
    "xlm": {PADDING: "attention_mask hides queries, not keys, where the model is causal (get_masks)"},
    "xlnet": {LEARNS: "what serves permuted orders and segments is built, and not used from left to right"},
    "roc_bert": {LEARNS: "every token has shape and sound 0, the rows of padding, which get no gradient"},
}  # fmt: skip
