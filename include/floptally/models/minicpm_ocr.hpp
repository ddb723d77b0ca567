// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minicpm_ocr[] = R"page(
# Four patches a token: the tower does not merge.
page minicpm_ocr : minicpmv4_6 prefix MiniCPMOcr
with tie_word_embeddings yes, downsample_mode "4x"
inner vision .vision_config: minicpm_ocr_vision.whole, always
mode   = "4x"
total  = 2
)page";

}  // namespace floptally::models
