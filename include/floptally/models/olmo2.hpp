// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char olmo2[] = R"page(
page olmo2 : llama prefix Olmo2
with vocab_size 50304, head_dim number absent
without mlp_bias
divides = no
qk_norm = (heads + kv) * dim
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
