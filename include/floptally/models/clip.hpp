// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char clip[] = R"page(
page clip : base.composite prefix CLIP
with projection_dim 512, text_config_dict object?, vision_config_dict object?
inner text .text_config: clip_text_model
inner vision .vision_config: clip_vision_model
# One row a text and one an image, into a common space, and the temperature of the logits.
vision_projector: linear in vision.h, out .projection_dim, as projector visual_projection, from x, per_sequence, head,
         split replicated
text_after:
  linear in text.h, out .projection_dim, as lm_head text_projection, from x, per_sequence, head, split replicated
  norm count 1
class Model:
  text TextModel pooled
  note the product of all texts with all images of a batch, 2 x texts x images x width, is not counted
class ForImageClassification:
  text none
  linear in vision.h, out labels, as projector classifier, from x, per_sequence, head, bias labels, split replicated
require not given(.text_config_dict): .text_config_dict must be null: write its values in text_config
require not given(.vision_config_dict): .vision_config_dict must be null: write its values in vision_config
)page";

}  // namespace floptally::models
