// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_5_text[] = R"page(
page qwen3_5_text : qwen3_next prefix Qwen3_5
with vocab_size 248320, hidden_size 4096, intermediate_size 12288, num_hidden_layers 32, num_key_value_heads 4
with mtp_num_hidden_layers 0? from 0
without decoder_sparse_step, mlp_only_layers, num_experts, num_experts_per_tok, moe_intermediate_size,
        shared_expert_intermediate_size, num_nextn_predict_layers
mtp    = .mtp_num_hidden_layers
feed:  gated inner f
class ForCausalLM: head out v, words
class TextModel:
class TextForSequenceClassification: head out labels
)page";

}  // namespace floptally::models
