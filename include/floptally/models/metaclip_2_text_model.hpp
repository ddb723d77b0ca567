// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char metaclip_2_text_model[] = R"page(
page metaclip_2_text_model : clip_text_model prefix MetaClip2
)page";

}  // namespace floptally::models
