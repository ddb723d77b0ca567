// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char llava_onevision[] = R"page(
page llava_onevision : llava_next prefix LlavaOnevision
with vision_feature_select_strategy "full" of default full
inner text .text_config: qwen2
inner vision .vision_config: siglip_vision_model, absent llava_onevision.siglip
tied   = .tie_word_embeddings or text.tied
features = .vision_feature_layer // .vision_feature_layers ?? -1

page llava_onevision.siglip : siglip_vision_model
with hidden_size 1152, intermediate_size 4304, num_hidden_layers 26, num_attention_heads 16, image_size 384, patch_size 14
with vision_use_head no
)page";

}  // namespace floptally::models
