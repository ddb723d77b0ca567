// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_omni_moe[] = R"page(
# A thinker that hears, sees and writes, and a talker behind it. The class of the whole has no forward: what trains is the thinker.
page qwen3_omni_moe : qwen3_omni_moe_thinker prefix Qwen3OmniMoe
with talker_config any?, code2wav_config any?, enable_audio_output yes
inner text .thinker_config.text_config: qwen3_omni_moe_text, always
inner audio .thinker_config.audio_config: qwen3_omni_moe_audio_encoder, always
inner vision .thinker_config.vision_config: qwen3_omni_moe_vision_encoder, always
with thinker_config.tie_word_embeddings no
tied   = .thinker_config.tie_word_embeddings
note .enable_audio_output: the talker and code2wav are not counted: their class generates only, and what trains is the thinker
)page";

}  // namespace floptally::models
