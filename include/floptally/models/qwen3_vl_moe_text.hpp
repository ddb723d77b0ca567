// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_vl_moe_text[] = R"page(
page qwen3_vl_moe_text : qwen3_vl_text prefix Qwen3VLMoe
with hidden_size 2048, intermediate_size 5632, num_hidden_layers 24, num_attention_heads 16, num_key_value_heads 16?
with head_dim number?, tie_word_embeddings yes
with num_experts 60 from 0, num_experts_per_tok 4, moe_intermediate_size 1408, decoder_sparse_step 1, mlp_only_layers list?
experts = .num_local_experts // .num_experts
sparse  = experts > 0 and (i + 1) % .decoder_sparse_step == 0 and not (.mlp_only_layers has i)
feed:
  experts of experts, top .num_experts_per_tok, inner .moe_intermediate_size  if sparse
  gated inner f  if not sparse
classes ForConditionalGeneration TextModel
)page";

}  // namespace floptally::models
