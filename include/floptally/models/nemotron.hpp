// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char nemotron[] = R"page(
page nemotron : llama prefix Nemotron
with vocab_size 256000, hidden_size 6144, intermediate_size 24576, num_attention_heads 48, num_key_value_heads number
divides = no
norms  = 4*h
final_norm = 2*h
mtp_norms = norms + 6*h
feed:  mlp inner f, bias .mlp_bias * (f + h)
)page";

}  // namespace floptally::models
