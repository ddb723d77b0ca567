// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qianfan_ocr_vision[] = R"page(
page qianfan_ocr_vision : internvl_vision prefix QianfanOCR
with attention_bias yes
)page";

}  // namespace floptally::models
