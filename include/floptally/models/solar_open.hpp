// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char solar_open[] = R"page(
page solar_open : glm4_moe prefix SolarOpen
with vocab_size 196608, num_hidden_layers 48, num_attention_heads 64, head_dim 128
with moe_intermediate_size 1280, intermediate_size number?
without use_qk_norm, first_k_dense_replace, num_nextn_predict_layers
qk_norm = 0
sparse  = yes
mtp     = null
)page";

}  // namespace floptally::models
