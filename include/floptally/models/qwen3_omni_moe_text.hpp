// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_omni_moe_text[] = R"page(
page qwen3_omni_moe_text : qwen3_vl_moe_text prefix Qwen3OmniMoeThinker
with vocab_size 3584, hidden_size 2048, intermediate_size 18944, num_hidden_layers 28, num_attention_heads 28
with num_key_value_heads 4, tie_word_embeddings no
with num_experts 128 from 0, num_experts_per_tok 8, moe_intermediate_size 768
)page";

}  // namespace floptally::models
