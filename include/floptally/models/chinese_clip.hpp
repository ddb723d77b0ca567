// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char chinese_clip[] = R"page(
page chinese_clip : clip prefix ChineseCLIP
inner text .text_config: chinese_clip_text_model
inner vision .vision_config: chinese_clip_vision_model
class Model:
  text TextModelWithoutPooler pooled
  note the product of all texts with all images of a batch, 2 x texts x images x width, is not counted
)page";

}  // namespace floptally::models
