// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char altclip[] = R"page(
page altclip : clip prefix AltCLIP
with projection_dim 768
inner text .text_config: altclip_text_model
inner vision .vision_config: altclip_vision_model
text_after:
  linear in text.made, out .projection_dim, as lm_head text_projection, from x, per_sequence, head, split replicated
  norm count 1
class Model:
  text TextModel
  note the product of all texts with all images of a batch, 2 x texts x images x width, is not counted
)page";

}  // namespace floptally::models
