// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char colqwen2[] = R"page(
# A vector for each token of Qwen2-VL.
page colqwen2 : base.composite prefix ColQwen2
with vlm_config object, vlm_config.model_type "qwen2_vl" of qwen2_vl, vlm_config.text_config object, embedding_dim 128
with vlm_config.tie_word_embeddings any?, vlm_config.vocab_size any?
inner text .vlm_config.text_config: qwen2_vl_text, always
inner vision .vlm_config.vision_config: qwen2_vl.vision, always
text_after: linear in text.h, out .embedding_dim, as lm_head embedding_proj_layer, from x, head, bias .embedding_dim, split replicated
class ForRetrieval: text TextModel
)page";

}  // namespace floptally::models
