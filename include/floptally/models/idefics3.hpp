// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char idefics3[] = R"page(
page idefics3 : base.composite prefix Idefics3
with scale_factor 2 to 65535
inner text .text_config: llama
inner vision .vision_config: idefics3_vision, always
side   = .scale_factor
vision_units = merged(side)
vision_projector: linear in side*side*vision.h, out text.h, as projector proj, from x, to y, units merged(side)
)page";

}  // namespace floptally::models
