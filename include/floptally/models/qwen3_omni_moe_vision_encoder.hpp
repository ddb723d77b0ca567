// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_omni_moe_vision_encoder[] = R"page(
page qwen3_omni_moe_vision_encoder : qwen3_vl_vision prefix Qwen3OmniMoe
class VisionEncoder:
)page";

}  // namespace floptally::models
