// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char colpali[] = R"page(
# A vector for each token of PaliGemma.
page colpali : base.composite prefix ColPali
with vlm_config object, vlm_config.model_type "paligemma" of paligemma, vlm_config.projection_dim 2048, embedding_dim 128
with vlm_config.tie_word_embeddings any?, vlm_config.hidden_size any?, vlm_config.vocab_size any?
inner text .vlm_config.text_config: gemma, absent paligemma.text, ignores use_bidirectional_attention
inner vision .vlm_config.vision_config: siglip_vision_model, absent paligemma.siglip
vision_per_frame = vision.rows * (vision.columns ?? vision.rows)
vision_projector: linear in vision.h, out text.h, as projector linear, from x, to y, bias text.h
text_after: linear in text.h, out .embedding_dim, as lm_head embedding_proj_layer, from x, head, bias .embedding_dim, split replicated
class ForRetrieval: text Model
require given(vision.rows): .vlm_config.vision_config.model_type must be a tower whose images are of one size
require .vlm_config.projection_dim == text.h: .vlm_config.projection_dim must be the text's hidden_size ({text.h})
)page";

}  // namespace floptally::models
