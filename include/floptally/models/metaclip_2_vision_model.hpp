// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char metaclip_2_vision_model[] = R"page(
page metaclip_2_vision_model : clip_vision_model prefix MetaClip2
)page";

}  // namespace floptally::models
