// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char siglip2_text_model[] = R"page(
page siglip2_text_model : siglip_text_model prefix Siglip2
)page";

}  // namespace floptally::models
