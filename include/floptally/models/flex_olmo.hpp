// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char flex_olmo[] = R"page(
page flex_olmo : olmo2 prefix FlexOlmo
with vocab_size 100352, num_experts 7, num_experts_per_tok 5
feed:  experts of .num_local_experts // .num_experts, top .num_experts_per_tok, inner f
classes ForCausalLM Model
)page";

}  // namespace floptally::models
