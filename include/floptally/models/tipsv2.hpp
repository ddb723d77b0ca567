// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char tipsv2[] = R"page(
page tipsv2 : base.composite prefix Tipsv2
with temperature_init_value any?
inner text .text_config: tipsv2_text_model
inner vision .vision_config: tipsv2_vision_model
# No matrix between the towers, which are of one width: a temperature.
vision_projector: norm count 1
class Model:
  text TextModel pooled
  note the product of all texts with all images of a batch, 2 x texts x images x width, is not counted
require text.h == vision.h: .text_config.hidden_size must be that of the tower ({vision.h})
)page";

}  // namespace floptally::models
