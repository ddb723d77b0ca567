// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_5_omni_vision_encoder[] = R"page(
page qwen2_5_omni_vision_encoder : qwen2_5_vl_vision prefix Qwen2_5Omni
class VisionEncoder:
)page";

}  // namespace floptally::models
