// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granite[] = R"page(
page granite : llama prefix Granite
divides = no
classes ForCausalLM Model
)page";

}  // namespace floptally::models
