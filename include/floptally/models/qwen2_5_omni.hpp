// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_5_omni[] = R"page(
# A thinker that hears, sees and writes, and a talker behind it. The class of the whole has no forward: what trains is the thinker.
page qwen2_5_omni : qwen2_5_omni_thinker prefix Qwen2_5Omni
with talker_config any?, token2wav_config any?, enable_audio_output yes
inner text .thinker_config.text_config: qwen2_5_omni_text, always
inner audio .thinker_config.audio_config: qwen2_5_omni_audio_encoder, always
inner vision .thinker_config.vision_config: qwen2_5_omni_vision_encoder, always
with thinker_config.tie_word_embeddings no
tied   = .thinker_config.tie_word_embeddings
note .enable_audio_output: the talker and token2wav are not counted: their class generates only, and what trains is the thinker
)page";

}  // namespace floptally::models
