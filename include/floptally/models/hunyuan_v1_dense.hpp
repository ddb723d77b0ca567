// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hunyuan_v1_dense[] = R"page(
page hunyuan_v1_dense : llama prefix HunYuanDenseV1
with vocab_size 290943, head_dim number
without mlp_bias
divides = no
qk_norm = 2*dim
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
