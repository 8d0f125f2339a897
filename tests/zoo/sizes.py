"""How large a model of the zoo is: fields of any config by their names, and what only some configs need."""

from typing import Any

V, T, D, HEADS, HEAD = 40, 24, 32, 4, 8  # vocabulary, context, width, heads and the width of one
LAYERS = 2

# Where a few keys are chosen by their scores, all are: of equal ones top-k takes any, so that which it takes
# differs between a text and its beginning, between a cache and none. That is no fault, nor the same twice.
# What a field of this name is set to, in any config and in any config inside of it that has it as a number.
BY_SIZE: tuple[tuple[int, str], ...] = (
    (V, """vocab_size decoder_vocab_size vocab_size_per_layer_input unpadded_vocab_size shape_vocab_size
        pronunciation_vocab_size ngram_vocab_size_base encoder_hash_byte_group_vocab"""),
    (T, """max_position_embeddings n_positions n_ctx max_seq_len context_length model_max_length
        max_target_positions max_source_positions original_max_position_embeddings rel_extent
        position_bias_max_distance relative_max_distance max_inference_chunksize
        index_topk keep_window_size"""),
    (D, """hidden_size d_model n_embd emb_dim embedding_dim embedding_size input_embedding_size
        output_embedding_size word_embed_proj_dim attention_hidden_size lru_width backbone_hidden_size
        router_hidden_size pronunciation_embed_dim shape_embed_dim dim_model_base ple_embed_dim"""),
    (2 * D, """intermediate_size d_inner ffn_dim decoder_ffn_dim encoder_ffn_dim dff dim_ff ffn_hidden_size
        feed_forward_size moe_intermediate_size shared_expert_intermediate_size shared_experts_intermediate_size
        shared_intermediate_size moe_shared_expert_intermediate_size dense_intermediate_size
        expert_ffn_hidden_size intermediate_size_mlp mamba_d_ssm prompt_mid_dim"""),
    (LAYERS, """num_hidden_layers n_layer n_layers num_layers decoder_layers encoder_layers num_decoder_layers
        num_encoder_layers num_blocks num_layers_per_stack"""),
    (HEADS, """num_attention_heads n_head n_heads decoder_attention_heads encoder_attention_heads
        num_decoder_attention_heads num_encoder_attention_heads attention_heads num_heads mamba_n_heads
        mamba_num_heads swa_num_attention_heads linear_num_heads linear_num_value_heads index_n_heads
        n_mamba_heads n_routed_experts num_experts num_local_experts moe_num_experts num_routed_experts"""),
    (HEADS // 2, """num_key_value_heads num_kv_heads swa_num_key_value_heads linear_num_key_heads num_query_groups
        num_experts_per_tok num_experts_per_token moe_topk moe_k num_expert_group n_group n_groups o_groups
        topk_group hc_mult hc_count heads_per_ngram conv1d_width zero_expert_num split_ngram_parts
        index_topk_blocks"""),
    (1, """first_k_dense_replace n_shared_experts num_shared_experts moe_num_shared_experts num_dense_layers
        num_nextn_predict_layers mamba_n_groups mamba_ngroups moe_layer_start_index prompt_length
        num_kv_shared_layers"""),
    (HEAD, """head_dim d_head dim_head attention_head_size kv_channels swa_head_dim linear_head_dim
        linear_key_head_dim linear_value_head_dim v_head_dim qk_nope_head_dim qk_rope_head_dim index_head_dim
        mamba_d_head mamba_head_dim rotary_dim d_rel global_head_dim query_pre_attn_scalar
        hidden_size_per_layer_input laurel_rank gated_norm_rank loop_gate_rank hc_lowrank adapter_rank
        kv_lora_rank q_lora_rank o_lora_rank mamba_dt_rank time_step_rank state_size ssm_state_size
        mamba_d_state chunk_size mamba_chunk_size"""),
    (2 * HEAD, """qk_head_dim attention_head_dim mamba_headdim sliding_window sliding_window_size
        attention_window_size local_attention window_size attention_chunk_size"""),
)  # fmt: skip
SIZES: dict[str, int] = {name: size for size, names in BY_SIZE for name in names.split()}

ROPE: dict[str, Any] = {"rope_type": "default", "rope_theta": 1e4}
QSA: dict[str, Any] = {
    "indexer_n_heads": HEADS,
    "indexer_kv_heads": 1,
    "indexer_head_dim": HEAD,
    "indexer_budget": T,
    "indexer_compress_ratio": HEADS,
}
# What single architectures need beside: their sizes depend on each other, or are told by no number.
# A dict is for the config inside of it that has that name.
EXCEPTIONS: dict[str, dict[str, Any]] = {
    "bamba": {"mamba_d_head": 2 * HEAD, "attn_layer_indices": [1]},
    "big_bird": {"attention_type": "original_full"},
    "bigbird_pegasus": {"attention_type": "original_full"},
    "cohere_compass_text": {
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": dict.fromkeys(("sliding_attention", "full_attention"), ROPE),
    },
    "dbrx": {"attn_config": {"rope_theta": 1e4, "clip_qkv": 8.0}},
    "deepseek_v2": {"num_experts_per_tok": HEADS // 2},
    "deepseek_v4": {"compress_rates": {"compressed_sparse_attention": 2, "heavily_compressed_attention": 4}},
    "dory": {"n_input_layers": 1, "n_recurrent_layers": 1, "n_output_layers": 1}
    | {"num_hidden_layers": 3, "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
    "dots1": {"n_routed_experts": HEADS, "n_shared_experts": 1, "num_experts_per_tok": HEADS // 2},
    "falcon_h1": {"mamba_d_head": 2 * HEAD},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"mamba_d_head": 2 * HEAD, "layer_types": ["mamba", "attention"]},
    "hrm_text": {"num_layers_per_stack": None},
    "hunyuan_v1_dense": {"head_dim": HEAD},
    "hunyuan_v1_moe": {"head_dim": HEAD, "num_experts": HEADS, "moe_topk": HEADS // 2},
    "inkling2_loop_text": {
        "n_layers_per_attn_res_block": 1,
        "loop_layer_index_start": 1,
        "loop_layer_index_end": 2,
        "loop_num_passes": 2,
    },
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "mamba2": {"head_dim": 2 * HEAD},
    "ministral": {"head_dim": HEAD},
    "nemotron": {"num_key_value_heads": HEADS // 2},
    "qwen4_exp": {"text_config": QSA},
    "qwen4_exp_text": QSA,
    "recurrent_gemma": {"num_hidden_layers": 3},
    "rwkv": {"use_cache": False},
    "xlm": {"causal": True},
    "xlnet": {"attn_type": "uni"},
    "xlstm": {"hidden_size": 4 * D, "embedding_dim": 4 * D, "use_cache": False},
    "xmod": {"default_language": "en_XX"},
    "zamba": {
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
        "num_hidden_layers": 4,
        "attention_hidden_size": 2 * D,
    },
}

# What is not judged, since nothing but ids goes in and logits of the next token come out, and why.
UNFIT: dict[str, str] = {
    "blt": "bytes go in, in patches that a second model finds: four configs whose sizes depend on each other",
    "dots3_note": "each layer has a config of its own, in which sizes depend on each other",
    "dots3_note_text": "each layer has a config of its own, in which sizes depend on each other",
    "gemma4_assistant": "it continues another model's states, not ids alone",
    "gemma4_unified_assistant": "it continues another model's states, not ids alone",
    "git": "without an image its loss drops the places of one, so that no logit is left",
    "musicgen": "its ids are those of four codebooks at once, not a sequence of tokens",
    "musicgen_melody": "its ids are those of four codebooks at once, not a sequence of tokens",
    "reformer": "it has gradients in train mode alone, where its buckets are drawn at random",
}
