// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char codegen[] = R"page(
page codegen : gptj prefix CodeGen
fused_qkv = yes
classes ForCausalLM Model
)page";

}  // namespace floptally::models
