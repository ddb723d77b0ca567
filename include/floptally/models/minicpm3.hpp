// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minicpm3[] = R"page(
page minicpm3 : deepseek_v3 prefix MiniCPM3
with vocab_size 73448, hidden_size 2560, intermediate_size 6400, num_hidden_layers 62, num_attention_heads 40
with tie_word_embeddings yes, mlp_bias no
with q_lora_rank 768?, kv_lora_rank 256, qk_nope_head_dim 64, qk_rope_head_dim 32, v_head_dim number?
without n_routed_experts, num_experts_per_tok, moe_intermediate_size, n_shared_experts, first_k_dense_replace,
        moe_layer_freq, num_nextn_predict_layers
divides = yes
dim     = .v_head_dim ?? h / heads
mtp     = null
feed:  gated inner f, bias .mlp_bias * (2*f + h)
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
