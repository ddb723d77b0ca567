// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char modernvbert[] = R"page(
# ModernBERT that sees images, in both directions as its text.
page modernvbert : base.composite prefix ModernVBert
with pixel_shuffle_factor 4 to 65535, classifier_pooling any?, classifier_bias any?
inner text .text_config: modernbert
inner vision .vision_config: siglip_vision_model
tied   = .tie_word_embeddings
side   = .pixel_shuffle_factor
vision_units = merged(side)
vision_projector: linear in side*side*vision.h, out text.h, as projector modality_projection, from x, to y, units merged(side)
class Model: text Model
class ForMaskedLM: text ForMaskedLM
)page";

}  // namespace floptally::models
