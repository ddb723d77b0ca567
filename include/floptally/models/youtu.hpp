// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char youtu[] = R"page(
page youtu : deepseek_v3 prefix Youtu
with vocab_size 128256, hidden_size 2048, intermediate_size 6144, num_hidden_layers 32, num_attention_heads 16
with tie_word_embeddings yes
without n_routed_experts, num_experts_per_tok, moe_intermediate_size, n_shared_experts, first_k_dense_replace,
        moe_layer_freq, num_nextn_predict_layers
mtp    = null
feed:  gated inner f
classes ForCausalLM Model
)page";

}  // namespace floptally::models
