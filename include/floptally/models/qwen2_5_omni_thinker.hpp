// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_5_omni_thinker[] = R"page(
page qwen2_5_omni_thinker : base.composite prefix Qwen2_5OmniThinker
with audio_token_index any?, image_token_index any?, video_token_index any?, seconds_per_chunk any?
inner text .text_config: qwen2_5_omni_text, always
inner audio .audio_config: qwen2_5_omni_audio_encoder, always
inner vision .vision_config: qwen2_5_omni_vision_encoder, always
class ForConditionalGeneration: text ForConditionalGeneration
)page";

}  // namespace floptally::models
