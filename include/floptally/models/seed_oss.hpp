// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char seed_oss[] = R"page(
page seed_oss : llama prefix SeedOss
with vocab_size 155136, intermediate_size 27648, num_hidden_layers 64, num_attention_heads 80
with num_key_value_heads 8?, head_dim 128?, attention_bias yes, attention_out_bias no
divides = no
bias   = .attention_bias * (heads + 2*kv) * dim + .attention_out_bias * h
)page";

}  // namespace floptally::models
