// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char colmodernvbert[] = R"page(
# A vector for each token of ModernVBERT.
page colmodernvbert : base.composite prefix ColModernVBert
with vlm_config object, vlm_config.model_type "modernvbert" of modernvbert, vlm_config.pixel_shuffle_factor 4 to 65535, embedding_dim 128
with vlm_config.tie_word_embeddings any?, vlm_config.classifier_pooling any?, vlm_config.classifier_bias any?, vlm_config.vocab_size any?
inner text .vlm_config.text_config: modernbert
inner vision .vlm_config.vision_config: siglip_vision_model
side   = .vlm_config.pixel_shuffle_factor
vision_units = merged(side)
vision_projector: linear in side*side*vision.h, out text.h, as projector modality_projection, from x, to y, units merged(side)
text_after: linear in text.h, out .embedding_dim, as lm_head embedding_proj_layer, from x, head, bias .embedding_dim, split replicated
class ForRetrieval: text Model
)page";

}  // namespace floptally::models
