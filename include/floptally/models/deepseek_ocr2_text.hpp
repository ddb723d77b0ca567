// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deepseek_ocr2_text[] = R"page(
page deepseek_ocr2_text : llama prefix DeepseekOcr2
with vocab_size 102400, n_routed_experts 64, num_experts_per_tok number, moe_intermediate_size 1407, n_shared_experts 2
with mlp_layer_types list each of dense sparse
with n_group any?, topk_group any?, pretraining_tp any?
without head_dim
dim    = h / heads
inner  = .moe_intermediate_size
shared = .n_shared_experts * inner
sparse = .mlp_layer_types[i] == "sparse"
feed:
  experts of .n_routed_experts, top .num_experts_per_tok, inner inner, shared shared, bias .mlp_bias * (2*shared + h)  if sparse
  gated inner f, bias .mlp_bias * (2*f + h)                                                                            if not sparse
class ForCausalLM: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
