// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char olmo[] = R"page(
page olmo : llama prefix Olmo
with vocab_size 50304, head_dim number absent
without mlp_bias
divides = no
norms  = 0                        # layer norms without weights
final_norm = 0
mtp_norms = 0
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
