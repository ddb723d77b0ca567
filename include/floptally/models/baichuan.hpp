// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char baichuan[] = R"page(
page baichuan : base.decoder prefix Baichuan
with intermediate_size 11008
divides = yes
classes ForCausalLM Model
)page";

}  // namespace floptally::models
