// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char smolvlm_vision[] = R"page(
page smolvlm_vision : idefics3_vision prefix SmolVLM
)page";

}  // namespace floptally::models
