// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char metaclip_2[] = R"page(
page metaclip_2 : clip prefix MetaClip2
inner text .text_config: metaclip_2_text_model
inner vision .vision_config: metaclip_2_vision_model
)page";

}  // namespace floptally::models
