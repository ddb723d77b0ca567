// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char smolvlm[] = R"page(
page smolvlm : idefics3 prefix SmolVLM
inner vision .vision_config: smolvlm_vision, always
)page";

}  // namespace floptally::models
