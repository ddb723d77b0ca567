// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_omni_moe_thinker[] = R"page(
page qwen3_omni_moe_thinker : base.composite prefix Qwen3OmniMoeThinker
inner text .text_config: qwen3_omni_moe_text, always
inner audio .audio_config: qwen3_omni_moe_audio_encoder, always
inner vision .vision_config: qwen3_omni_moe_vision_encoder, always
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel
)page";

}  // namespace floptally::models
