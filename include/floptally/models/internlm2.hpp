// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char internlm2[] = R"page(
page internlm2 : internlm prefix InternLM2
with num_key_value_heads number?
kv     = .num_key_value_heads ?? heads
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
