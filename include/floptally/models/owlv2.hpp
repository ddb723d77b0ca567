// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char owlv2[] = R"page(
page owlv2 : owlvit prefix Owlv2
inner text .text_config: owlv2_text_model, always
inner vision .vision_config: owlv2_vision_model, always
class ForObjectDetection:
  text TextModel pooled
  note the product of all patches of an image with its queries, 2 x patches x queries x width, is not counted
  linear in p, out .projection_dim, as projector visual_projection, from x, per_sequence, detached, split replicated
  linear in p, out p,      as boxes dense0, from x, to a, bias p, split replicated
  linear in p, out p,      as boxes dense1, from a, to b, bias p, split replicated
  linear in p, out 4,      as boxes dense2, from b, bias 4, split replicated
  linear in p, out text.h, as classes dense0, from x, bias text.h, split replicated
  linear in p, out 1,      as classes logit_shift, from x, bias 1, split replicated
  linear in p, out 1,      as classes logit_scale, from x, bias 1, split replicated
  # Whether a patch is a thing at all: its gradient stops here.
  linear in p, out p,      as objects dense0, from x, to c, bias p, input, split replicated
  linear in p, out p,      as objects dense1, from c, to d, bias p, split replicated
  linear in p, out 1,      as objects dense2, from d, bias 1, split replicated
  norm count 2*p
class Model:
  text TextModel pooled
  note the product of all texts with all images of a batch, 2 x texts x images x width, is not counted
)page";

}  // namespace floptally::models
