// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char siglip[] = R"page(
page siglip : base.composite prefix Siglip
inner text .text_config: siglip_text_model
inner vision .vision_config: siglip_vision_model
# Scale and bias of the logits.
text_after:
  norm count 1
  bias count 1
class Model:
  text TextModel pooled
  note the product of all texts with all images of a batch, 2 x texts x images x width, is not counted
class ForImageClassification:
  text none
  linear in vision.h, out labels, as projector classifier, from x, per_sequence, head, bias labels, split replicated
)page";

}  // namespace floptally::models
