// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hunyuan_v1_moe[] = R"page(
page hunyuan_v1_moe : llama prefix HunYuanMoEV1
with vocab_size 290943, head_dim number, num_experts 1, moe_topk 1 or list
without mlp_bias
divides = no
qk_norm = 2*dim
top     = (.num_experts_per_tok // .moe_topk)[i]       # may differ between layers
feed: experts of .num_local_experts // .num_experts, top top, inner f, shared f
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
