// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minicpm_ocr_vision[] = R"page(
page minicpm_ocr_vision : minicpmv4_6_vision prefix MiniCPMOcr

page minicpm_ocr_vision.whole : minicpm_ocr_vision
merges = no
)page";

}  // namespace floptally::models
