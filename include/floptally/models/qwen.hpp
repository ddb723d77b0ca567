// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen[] = R"page(
# States the width of gate and up together.
page qwen : base.decoder prefix QWen
with intermediate_size 22016, kv_channels 128
dim    = .head_dim // .kv_channels
f      = .intermediate_size / 2
bias   = 3*heads*dim
require h == heads * dim: .kv_channels must be hidden_size / num_attention_heads ({h} / {heads})
require .intermediate_size % 2 == 0: .intermediate_size must be even
class LMHeadModel: head out v, words
class Model:
)page";

}  // namespace floptally::models
