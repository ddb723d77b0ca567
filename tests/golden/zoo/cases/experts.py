# SPDX-License-Identifier: Apache-2.0
"""Mixtures of experts: mixtral, qwen2_moe, qwen3_moe, gpt_oss."""

S, F = "sliding_attention", "full_attention"


def cases(case):
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2)

    case("mixtral/plain", "MixtralForCausalLM", **gqa, num_local_experts=7, num_experts_per_tok=3)
    case("mixtral/experts-absent", "MixtralForCausalLM", **gqa)
    case("mixtral/window-tied", "MixtralForCausalLM", **gqa, num_local_experts=5, sliding_window=4,
         tie_word_embeddings=True)
    case("mixtral/alias", "MixtralForCausalLM", **gqa, num_experts=5, num_experts_per_tok=1, head_dim=None)
    case("mixtral/both-names", "MixtralForCausalLM", **gqa, num_local_experts=6, num_experts=5)
    case("mixtral/kv-absent", "MixtralForCausalLM",
         **dict(base, num_attention_heads=16, hidden_size=64, num_hidden_layers=1), num_local_experts=5)
    case("mixtral/head-dim", "MixtralForCausalLM", **gqa, num_local_experts=5, head_dim=10)
    case("mixtral/model", "MixtralModel", **gqa, num_local_experts=5)
    case("mixtral/sequence-classification", "MixtralForSequenceClassification", **gqa, num_local_experts=5,
         pad_token_id=0, num_labels=3)
    case("mixtral/token-classification", "MixtralForTokenClassification", **gqa, num_local_experts=5, num_labels=3)

    moe = dict(gqa, num_hidden_layers=4, moe_intermediate_size=22, num_experts=7, num_experts_per_tok=3)
    shared = dict(moe, shared_expert_intermediate_size=34)
    case("qwen2_moe/plain", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=2))
    case("qwen2_moe/no-qkv-bias-tied", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=2), qkv_bias=False,
         tie_word_embeddings=True)
    case("qwen2_moe/mlp-only", "Qwen2MoeForCausalLM", **shared, mlp_only_layers=[0, 2, 9])
    case("qwen2_moe/sparse-step", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=5), decoder_sparse_step=2)
    case("qwen2_moe/sparse-step-and-mlp-only", "Qwen2MoeForCausalLM", **shared, decoder_sparse_step=2,
         mlp_only_layers=[3])
    case("qwen2_moe/no-experts", "Qwen2MoeForCausalLM", **dict(shared, num_experts=0, num_hidden_layers=2))
    case("qwen2_moe/window", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=6), use_sliding_window=True,
         sliding_window=5, max_window_layers=3)
    case("qwen2_moe/window-off", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=2), use_sliding_window=False,
         sliding_window=5, max_window_layers=9)
    case("qwen2_moe/layer-types", "Qwen2MoeForCausalLM", **shared, use_sliding_window=True, sliding_window=4,
         layer_types=[F, S, S, F])
    case("qwen2_moe/head-dim", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=1), head_dim=10)
    case("qwen2_moe/defaults", "Qwen2MoeForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=1)
    case("qwen2_moe/model", "Qwen2MoeModel", **dict(shared, num_hidden_layers=1))
    case("qwen2_moe/sequence-classification", "Qwen2MoeForSequenceClassification",
         **dict(shared, num_hidden_layers=1), pad_token_id=0, num_labels=5)

    case("qwen3_moe/plain", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=2), head_dim=10)
    case("qwen3_moe/head-dim-absent", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=2))
    case("qwen3_moe/attention-bias-tied", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=2), head_dim=14,
         attention_bias=True, tie_word_embeddings=True)
    case("qwen3_moe/mlp-only", "Qwen3MoeForCausalLM", **moe, head_dim=10, mlp_only_layers=[0, 1])
    case("qwen3_moe/sparse-step", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=5), head_dim=10,
         decoder_sparse_step=2, mlp_only_layers=None)
    case("qwen3_moe/window", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=2), head_dim=10,
         use_sliding_window=True, sliding_window=5, max_window_layers=1)
    case("qwen3_moe/window-off", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=2), head_dim=10,
         use_sliding_window=False, sliding_window=5)
    local = {key: value for key, value in moe.items() if key != "num_experts"}
    case("qwen3_moe/alias", "Qwen3MoeForCausalLM", **dict(local, num_hidden_layers=1), num_local_experts=6)
    case("qwen3_moe/both-names", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=1), num_local_experts=6)
    case("qwen3_moe/no-experts", "Qwen3MoeForCausalLM", **dict(moe, num_experts=0, num_hidden_layers=1))
    case("qwen3_moe/defaults", "Qwen3MoeForCausalLM", vocab_size=61, hidden_size=64, num_hidden_layers=1)
    case("qwen3_moe/model", "Qwen3MoeModel", **dict(moe, num_hidden_layers=1), head_dim=10)
    case("qwen3_moe/token-classification", "Qwen3MoeForTokenClassification", **dict(moe, num_hidden_layers=1),
         head_dim=10, num_labels=3)
    case("qwen3_moe/question-answering", "Qwen3MoeForQuestionAnswering", **dict(moe, num_hidden_layers=1), head_dim=10)

    oss = dict(gqa, num_hidden_layers=3, intermediate_size=26, head_dim=10, num_local_experts=7,
               num_experts_per_tok=3, sliding_window=5)
    one = dict(oss, num_hidden_layers=1)
    case("gpt_oss/plain", "GptOssForCausalLM", **oss)
    case("gpt_oss/layer-types", "GptOssForCausalLM", **oss, layer_types=[F, F, S])
    case("gpt_oss/no-bias-tied", "GptOssForCausalLM", **oss, attention_bias=False, tie_word_embeddings=True)
    case("gpt_oss/window-and-head-dim-absent", "GptOssForCausalLM",
         **{key: value for key, value in oss.items() if key not in ("sliding_window", "head_dim")})
    case("gpt_oss/kv-absent", "GptOssForCausalLM",
         **{**{key: value for key, value in one.items() if key != "num_key_value_heads"}, "num_attention_heads": 16})
    case("gpt_oss/alias-experts-per-token-absent", "GptOssForCausalLM", num_experts=5, experts_per_token=2,
         **{key: value for key, value in one.items() if key not in ("num_local_experts", "num_experts_per_tok")})
    case("gpt_oss/experts-absent", "GptOssForCausalLM",
         **{key: value for key, value in one.items() if key not in ("num_local_experts", "num_experts_per_tok")})
    case("gpt_oss/model", "GptOssModel", **one)
    case("gpt_oss/sequence-classification", "GptOssForSequenceClassification", **one, pad_token_id=0, num_labels=5)
    case("gpt_oss/token-classification", "GptOssForTokenClassification", **one, num_labels=5)
