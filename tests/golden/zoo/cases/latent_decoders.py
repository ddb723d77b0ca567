# SPDX-License-Identifier: Apache-2.0
"""Multi-head latent attention: DeepSeek-V2, -V3 and -V3.2, MiniCPM3, GLM-4.7-Flash, GLM-5, Youtu, LongCat-Flash,
A.X-K1, Mistral-4."""


def without(config, *keys):
    return {key: value for key, value in config.items() if key not in keys}


def zero_experts(config):
    """The up and gate matrices of all experts are one tensor, with room for the identity experts."""
    unused = config.num_layers * config.zero_expert_num * 2 * config.expert_ffn_hidden_size * config.hidden_size
    return {"zero_experts": {"count": unused, "why": "parameters: matrices of identity experts are kept, never used"}}


def cases(case):
    latent = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=4, q_lora_rank=22, kv_lora_rank=26, qk_nope_head_dim=10, qk_rope_head_dim=8,
                  v_head_dim=14)
    groups = dict(n_group=2, topk_group=1)
    moe = dict(latent, num_hidden_layers=3, first_k_dense_replace=1, moe_intermediate_size=20, n_routed_experts=10,
               num_experts_per_tok=3, n_shared_experts=2, **groups)
    one = dict(moe, num_hidden_layers=1, first_k_dense_replace=0)
    by_rule = without(moe, "first_k_dense_replace")
    types = dict(mlp_layer_types=["sparse", "dense", "sparse"])

    case("deepseek_v3/plain", "DeepseekV3ForCausalLM", **moe)
    case("deepseek_v3/null-of-older-files", "DeepseekV3ForCausalLM", **one, moe_layer_freq=None)
    case("deepseek_v3/full-rank-queries", "DeepseekV3ForCausalLM", **dict(one, q_lora_rank=None))
    case("deepseek_v3/equal-head-dims", "DeepseekV3ForCausalLM", **dict(one, v_head_dim=18))
    case("deepseek_v3/attention-bias-tied", "DeepseekV3ForCausalLM", **one, attention_bias=True,
         tie_word_embeddings=True)
    case("deepseek_v3/attention-bias-full-rank", "DeepseekV3ForCausalLM", **dict(one, q_lora_rank=None),
         attention_bias=True)
    case("deepseek_v3/alias-no-shared-experts", "DeepseekV3ForCausalLM",
         **dict(one, n_shared_experts=0, num_local_experts=12))
    case("deepseek_v3/dense", "DeepseekV3ForCausalLM", **dict(one, first_k_dense_replace=5),
         num_nextn_predict_layers=0)
    case("deepseek_v3/latent-sizes-absent", "DeepseekV3ForCausalLM", **dict(
        without(one, "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"),
        num_key_value_heads=None))
    case("deepseek_v3/experts-absent", "DeepseekV3ForCausalLM", **dict(without(
        by_rule, "n_routed_experts", "num_experts_per_tok", "n_shared_experts", "n_group", "topk_group",
        "moe_intermediate_size"), num_hidden_layers=4), moe_intermediate_size=6)
    case("deepseek_v3/model", "DeepseekV3Model", **one)
    case("deepseek_v3/sequence-classification", "DeepseekV3ForSequenceClassification", **one, pad_token_id=0,
         num_labels=5)
    case("deepseek_v3/token-classification", "DeepseekV3ForTokenClassification", **one, num_labels=5)

    v2 = without(moe, *groups)
    v2_one = without(one, *groups)
    case("deepseek_v2/plain", "DeepseekV2ForCausalLM", **v2)
    case("deepseek_v2/full-rank-queries", "DeepseekV2ForCausalLM", **dict(v2_one, q_lora_rank=None))
    case("deepseek_v2/groups", "DeepseekV2ForCausalLM", **dict(moe, num_hidden_layers=2),
         topk_method="group_limited_greedy")
    case("deepseek_v2/biases-tied", "DeepseekV2ForCausalLM", **v2, attention_bias=True, mlp_bias=True,
         tie_word_embeddings=True)
    case("deepseek_v2/alias", "DeepseekV2ForCausalLM", **v2_one, num_experts=7)
    case("deepseek_v2/absent", "DeepseekV2ForCausalLM", **without(
        v2_one, "num_key_value_heads", "first_k_dense_replace", "n_routed_experts", "n_shared_experts"))
    case("deepseek_v2/latent-sizes-absent", "DeepseekV2ForCausalLM", **without(
        v2_one, "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    case("deepseek_v2/model", "DeepseekV2Model", **v2_one)
    case("deepseek_v2/sequence-classification", "DeepseekV2ForSequenceClassification", **v2_one, pad_token_id=0,
         num_labels=5)

    case("minicpm3/plain", "MiniCPM3ForCausalLM", **latent)
    case("minicpm3/value-dim-absent", "MiniCPM3ForCausalLM", **without(latent, "v_head_dim"))
    case("minicpm3/value-dim-null-full-rank-queries", "MiniCPM3ForCausalLM",
         **dict(latent, v_head_dim=None, q_lora_rank=None))
    case("minicpm3/biases-untied", "MiniCPM3ForCausalLM", **latent, attention_bias=True, mlp_bias=True,
         tie_word_embeddings=False)
    case("minicpm3/latent-sizes-absent", "MiniCPM3ForCausalLM", **without(
        latent, "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim"))
    case("minicpm3/equal-head-dims", "MiniCPM3ForCausalLM", **dict(latent, v_head_dim=18))
    case("minicpm3/model", "MiniCPM3Model", **latent)
    case("minicpm3/sequence-classification", "MiniCPM3ForSequenceClassification", **latent, pad_token_id=0,
         num_labels=5)

    case("glm4_moe_lite/plain", "Glm4MoeLiteForCausalLM", **by_rule)
    case("glm4_moe_lite/mlp-layer-types", "Glm4MoeLiteForCausalLM", **moe, **types)
    case("glm4_moe_lite/dense-layers-null", "Glm4MoeLiteForCausalLM", **by_rule, first_k_dense_replace=None)
    case("glm4_moe_lite/full-rank-queries", "Glm4MoeLiteForCausalLM", **dict(by_rule, q_lora_rank=None),
         attention_bias=True)
    case("glm4_moe_lite/head-dim-tied", "Glm4MoeLiteForCausalLM", **dict(by_rule, num_hidden_layers=2), head_dim=6,
         tie_word_embeddings=True)
    case("glm4_moe_lite/absent", "Glm4MoeLiteForCausalLM", **dict(without(
        by_rule, "n_routed_experts", "num_experts_per_tok", "n_shared_experts", "n_group", "topk_group", "q_lora_rank",
        "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"), num_hidden_layers=2))
    case("glm4_moe_lite/model", "Glm4MoeLiteModel", **dict(by_rule, num_hidden_layers=2))

    case("youtu/plain", "YoutuForCausalLM", **latent)
    case("youtu/full-rank-queries-untied", "YoutuForCausalLM", **dict(latent, q_lora_rank=None),
         tie_word_embeddings=False)
    case("youtu/attention-bias", "YoutuForCausalLM", **latent, attention_bias=True)
    case("youtu/latent-sizes-absent", "YoutuForCausalLM", **without(
        latent, "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    case("youtu/model", "YoutuModel", **latent)

    # Rotary dimensions are a part of the indexer's heads too.
    sparse = dict(moe, index_n_heads=3, index_head_dim=16, index_topk=4)
    sparse_one = dict(sparse, num_hidden_layers=1, first_k_dense_replace=0)
    absent = without(sparse, "first_k_dense_replace", "n_routed_experts", "num_experts_per_tok", "n_shared_experts",
                     "n_group", "topk_group", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
                     "v_head_dim", "index_n_heads", "index_head_dim", "index_topk")
    case("deepseek_v32/plain", "DeepseekV32ForCausalLM", **sparse)
    case("deepseek_v32/all-keys-chosen", "DeepseekV32ForCausalLM", **dict(sparse_one, index_topk=50))
    case("deepseek_v32/equal-head-dims", "DeepseekV32ForCausalLM", **dict(sparse_one, v_head_dim=18))
    case("deepseek_v32/mlp-layer-types-bias-tied", "DeepseekV32ForCausalLM", **sparse, **types, attention_bias=True,
         tie_word_embeddings=True)
    case("deepseek_v32/num-experts", "DeepseekV32ForCausalLM", **sparse_one, num_experts=12)
    case("deepseek_v32/both-aliases", "DeepseekV32ForCausalLM", **sparse_one, num_experts=12, num_local_experts=8,
         _no_resolved="keeps num_experts, which would win over the number that it was resolved to")
    case("deepseek_v32/absent", "DeepseekV32ForCausalLM",
         **dict(absent, num_hidden_layers=4, moe_intermediate_size=6))
    case("deepseek_v32/model", "DeepseekV32Model", **sparse_one)

    case("glm_moe_dsa/plain", "GlmMoeDsaForCausalLM", **sparse)
    five = dict(sparse, num_hidden_layers=5, first_k_dense_replace=4)
    case("glm_moe_dsa/frequency", "GlmMoeDsaForCausalLM", **five, index_topk_freq=2)
    case("glm_moe_dsa/frequency-and-offset", "GlmMoeDsaForCausalLM", **five, index_topk_freq=2,
         index_skip_topk_offset=3)
    case("glm_moe_dsa/pattern", "GlmMoeDsaForCausalLM", **five, index_topk_pattern="FSSFS", index_topk_freq=4)
    case("glm_moe_dsa/pattern-list", "GlmMoeDsaForCausalLM", **sparse,
         index_topk_pattern=["full", "full", "shared"])
    case("glm_moe_dsa/indexer-types", "GlmMoeDsaForCausalLM", **sparse, indexer_types=["full", "shared", "full"],
         index_topk_freq=3, attention_bias=True, tie_word_embeddings=True)
    case("glm_moe_dsa/equal-head-dims-mlp-layer-types", "GlmMoeDsaForCausalLM", **dict(sparse, v_head_dim=18), **types)
    case("glm_moe_dsa/absent", "GlmMoeDsaForCausalLM", **dict(absent, num_hidden_layers=4, moe_intermediate_size=6))
    case("glm_moe_dsa/model", "GlmMoeDsaModel", **sparse_one)

    pairs = dict(without(latent, "intermediate_size", "num_hidden_layers", "num_key_value_heads"), num_layers=2,
                 ffn_hidden_size=70, expert_ffn_hidden_size=20, n_routed_experts=7, moe_topk=3, zero_expert_num=0,
                 head_dim=8)
    case("longcat_flash/plain", "LongcatFlashForCausalLM", **pairs)
    case("longcat_flash/bias-tied", "LongcatFlashForCausalLM", **dict(pairs, num_layers=1), attention_bias=True,
         router_bias=True, tie_word_embeddings=True)
    case("longcat_flash/aliases", "LongcatFlashForCausalLM", **pairs, num_hidden_layers=6, intermediate_size=30,
         moe_intermediate_size=14, num_experts_per_tok=2, num_local_experts=5)
    case("longcat_flash/zero-experts-all-chosen", "LongcatFlashForCausalLM",
         **dict(pairs, num_layers=1, zero_expert_num=4, moe_topk=11), _parameters=zero_experts)
    case("longcat_flash/zero-experts-bias", "LongcatFlashForCausalLM",
         **dict(pairs, zero_expert_num=2, moe_topk=9), router_bias=True, _parameters=zero_experts)
    case("longcat_flash/equal-head-dims", "LongcatFlashForCausalLM", **dict(pairs, num_layers=1, v_head_dim=18))
    case("longcat_flash/absent", "LongcatFlashForCausalLM", **dict(without(
        pairs, "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "moe_topk",
        "head_dim"), num_layers=1, n_routed_experts=13))
    case("longcat_flash/model", "LongcatFlashModel", **dict(pairs, num_layers=1))

    case("axk1/plain", "AXK1ForCausalLM", **by_rule)
    case("axk1/first-dense-and-frequency", "AXK1ForCausalLM",
         **dict(moe, num_hidden_layers=5, first_k_dense_replace=2), moe_layer_freq=2)
    case("axk1/mlp-layer-types-bias-tied", "AXK1ForCausalLM", **moe, **types, attention_bias=True,
         tie_word_embeddings=True)
    case("axk1/absent", "AXK1ForCausalLM", **dict(without(
        by_rule, "n_routed_experts", "num_experts_per_tok", "n_shared_experts", "n_group", "topk_group", "q_lora_rank",
        "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"), num_hidden_layers=2,
        moe_intermediate_size=6))
    case("axk1/model", "AXK1Model", **one)
    case("axk1/sequence-classification", "AXK1ForSequenceClassification", **one, pad_token_id=0, num_labels=5)
    case("axk1/token-classification", "AXK1ForTokenClassification", **one, num_labels=5)

    case("mistral4/plain", "Mistral4ForCausalLM", **moe, pad_token_id=0)
    case("mistral4/full-rank-queries-bias-tied", "Mistral4ForCausalLM", **dict(one, q_lora_rank=None), pad_token_id=0,
         attention_bias=True, tie_word_embeddings=True)
    case("mistral4/absent", "Mistral4ForCausalLM", **dict(without(
        by_rule, "n_routed_experts", "num_experts_per_tok", "n_shared_experts", "n_group", "topk_group", "q_lora_rank",
        "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"), num_hidden_layers=1,
        moe_intermediate_size=6), pad_token_id=0)
    case("mistral4/alias", "Mistral4ForCausalLM", **dict(one, num_local_experts=12), pad_token_id=0)
    case("mistral4/model", "Mistral4Model", **one, pad_token_id=0)
    case("mistral4/sequence-classification", "Mistral4ForSequenceClassification", **one, pad_token_id=0, num_labels=5)
    case("mistral4/token-classification", "Mistral4ForTokenClassification", **one, pad_token_id=0, num_labels=5)
