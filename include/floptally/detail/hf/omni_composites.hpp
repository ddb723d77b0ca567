// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/omni_audio_towers.hpp>
#include <floptally/detail/hf/patch_towers.hpp>
#include <floptally/detail/hf/qwen_vl_kin.hpp>

/// @file
/// Language models that see and hear. Of Qwen's omni models it is the thinker, which is what is trained on text; the
/// talker takes its hidden states.

namespace floptally::detail {

inline constexpr hf_family qwen2_5_omni_text = [] {
    hf_family row = renamed(*text_named("qwen2_5_vl_text"), "qwen2_5_omni_text", "Qwen2_5Omni");
    row.hidden_size = 3584;
    row.intermediate_size = 18944;
    row.num_hidden_layers = 28;
    row.num_attention_heads = 28;
    row.num_key_value_heads = 4;
    row.sliding_window = 32768;
    row.mixers = sliding_from_max_window_layers;
    return row;
}();

inline constexpr std::array omni_composites{
    hf_composite{
        .model_type = "qwen2_5_omni_thinker",
        .class_prefix = "Qwen2_5OmniThinker",
        .heads = std::span(vision_language_heads).first(1),
        .text_family = &qwen2_5_omni_text,
        .towers = {hf_slot{.key = "audio_config", .suffix = "AudioEncoder", .family = &omni_audio_towers.front()},
                   merging(qwen2_5_vl_vision)}},
};

}  // namespace floptally::detail
