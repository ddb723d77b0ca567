// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char aimv2[] = R"page(
page aimv2 : clip prefix Aimv2
with projection_dim 512
without text_config_dict, vision_config_dict
inner text .text_config: aimv2_text_model
inner vision .vision_config: aimv2_vision_model
class Model:
  text TextModel pooled
  note the product of all texts with all images of a batch, 2 x texts x images x width, is not counted
)page";

}  // namespace floptally::models
