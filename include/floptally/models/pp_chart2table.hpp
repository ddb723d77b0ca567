// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char pp_chart2table[] = R"page(
page pp_chart2table : got_ocr2
inner vision .vision_config: pp_chart2table.vision, always

page pp_chart2table.vision : got_ocr2_vision
)page";

}  // namespace floptally::models
