// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char owlvit[] = R"page(
# Queries are texts; each patch of an image may be a thing, with a box and a likeness to each query.
page owlvit : clip prefix OwlViT
without text_config_dict, vision_config_dict
inner text .text_config: owlvit_text_model, always
inner vision .vision_config: owlvit_vision_model, always
p      = vision.h
class ForObjectDetection:
  text TextModel pooled
  note the product of all patches of an image with its queries, 2 x patches x queries x width, is not counted
  # What the contrastive loss alone would read.
  linear in p, out .projection_dim, as projector visual_projection, from x, per_sequence, detached, split replicated
  linear in p, out p,      as boxes dense0, from x, to a, bias p, split replicated
  linear in p, out p,      as boxes dense1, from a, to b, bias p, split replicated
  linear in p, out 4,      as boxes dense2, from b, bias 4, split replicated
  linear in p, out text.h, as classes dense0, from x, bias text.h, split replicated
  linear in p, out 1,      as classes logit_shift, from x, bias 1, split replicated
  linear in p, out 1,      as classes logit_scale, from x, bias 1, split replicated
  norm count 2*p
class Model:
  text TextModel pooled
  note the product of all texts with all images of a batch, 2 x texts x images x width, is not counted
require .projection_dim == text.h: .projection_dim must be the text's hidden_size ({text.h})
)page";

}  // namespace floptally::models
