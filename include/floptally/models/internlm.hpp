// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char internlm[] = R"page(
page internlm : base.decoder prefix InternLM
with intermediate_size 11008, bias yes
divides = yes
bias   = .bias ? (heads + 2*kv) * dim + h : 0
classes ForCausalLM Model
)page";

}  // namespace floptally::models
