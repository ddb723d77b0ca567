// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_5_omni_text[] = R"page(
page qwen2_5_omni_text : qwen2_5_vl_text prefix Qwen2_5OmniThinker
with hidden_size 3584, intermediate_size 18944, num_hidden_layers 28, num_attention_heads 28, num_key_value_heads 4?
with sliding_window 32768?, max_window_layers 28 from 0
)page";

}  // namespace floptally::models
