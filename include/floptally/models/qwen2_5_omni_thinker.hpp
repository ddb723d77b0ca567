// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_5_omni_thinker[] = R"page(
page qwen2_5_omni_thinker : base.composite prefix Qwen2_5OmniThinker
with audio_token_index any?, image_token_index any?, video_token_index any?, seconds_per_chunk any?
inner text .text_config: qwen2_5_omni_thinker.text, always
inner audio .audio_config: qwen2_5_omni_audio_encoder, always
inner vision .vision_config: qwen2_5_vl_vision, always
class ForConditionalGeneration: text ForConditionalGeneration

page qwen2_5_omni_thinker.text : qwen2_5_vl_text prefix Qwen2_5Omni
with hidden_size 3584, intermediate_size 18944, num_hidden_layers 28, num_attention_heads 28, num_key_value_heads 4?
with sliding_window 32768?, max_window_layers 28 from 0
)page";

}  // namespace floptally::models
