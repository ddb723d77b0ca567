// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/hf/audio_towers.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/llava_parts.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/error.hpp>
#include <floptally/model/audio.hpp>
#include <floptally/model/layer.hpp>

/// @file
/// Language models that hear: an encoder of mel frames, fewer frames, a projector, a text model.

namespace floptally::detail {

/// Frames of a tower become one row: their mean, or all of them beside each other.
using hf_pool = std::uint64_t (*)(const hf_joined&);

[[nodiscard]] inline std::uint64_t pairs_of_frames(const hf_joined&) { return 2; }

/// As many as fill a row of the tower's `intermediate_size`.
[[nodiscard]] inline std::uint64_t stacked_frames(const hf_joined& model) {
    const std::uint64_t width = model.tower.sizes.intermediate_size;
    const std::uint64_t hidden_size = model.tower.sizes.hidden_size;
    if (width % hidden_size != 0) {
        throw error(model.tower.config.field("intermediate_size"),
                    "must be a multiple of hidden_size (" + std::to_string(hidden_size) +
                        "), since frames are stacked to rows of it; got " + std::to_string(width));
    }
    return width / hidden_size;
}

/// The class takes four whatever the sizes are.
[[nodiscard]] inline std::uint64_t four_frames(const hf_joined& model) {
    const std::uint64_t stacked = stacked_frames(model);
    if (stacked != 4) {
        throw error(model.tower.config.field("intermediate_size"),
                    "must be 4 x hidden_size (" + std::to_string(model.tower.sizes.hidden_size) +
                        "), since one token of the text stands for four frames; got " +
                        std::to_string(model.tower.sizes.intermediate_size));
    }
    return stacked;
}

template <hf_pool Pool>
[[nodiscard]] frame_rate pooled_rate(const hf_joined& model) {
    return whisper_rate(model.tower).pooled(static_cast<std::int64_t>(Pool(model)));
}

template <hf_pool Pool>
[[nodiscard]] tower_input pooled_placeholders(const hf_joined& model, tower_input input) {
    input.units = pooled_rate<Pool>(model).frames();
    return input;
}
/// Two linears with an activation between them.
[[nodiscard]] inline cost audio_projector(const hf_joined& model, std::uint64_t in, std::uint64_t between, bool bias) {
    return two_linears{.in_features = in,
                       .up_features = between,
                       .down_features = between,
                       .out_features = model.text.sizes.hidden_size,
                       .bias = bias}
        .of(nullptr);
}

template <hf_pool Pool>
[[nodiscard]] cost over_pooled(const hf_joined& model, const cost& projector) {
    const frame_rate rate = pooled_rate<Pool>(model);
    return projector.over(rate.frames(), rate.squares());
}

[[nodiscard]] inline cost qwen2_audio_projector(const hf_joined& model) {
    return over_pooled<pairs_of_frames>(model, one_linear(model));
}
[[nodiscard]] inline cost voxtral_projector(const hf_joined& model) {
    const std::uint64_t h = model.text.sizes.hidden_size;
    return over_pooled<stacked_frames>(model, audio_projector(model, model.tower.sizes.intermediate_size, h, false));
}
[[nodiscard]] inline cost audioflamingo3_projector(const hf_joined& model) {
    const std::uint64_t h = model.text.sizes.hidden_size;
    const bool bias = model.config.flag("projector_bias", true);
    return over_pooled<pairs_of_frames>(model, audio_projector(model, model.tower.sizes.hidden_size, h, bias));
}
[[nodiscard]] inline cost glmasr_projector(const hf_joined& model) {
    const std::uint64_t h = model.text.sizes.hidden_size;
    return over_pooled<four_frames>(model, audio_projector(model, model.tower.sizes.intermediate_size, 2 * h, true));
}

inline constexpr std::array audio_composites{
    hf_composite{.model_type = "qwen2_audio",
                 .class_prefix = "Qwen2Audio",
                 .heads = outer_heads,
                 .text_type = "qwen2",
                 .towers = {hf_slot{.key = "audio_config",
                                    .model_type = "qwen2_audio_encoder",
                                    .suffix = "Encoder",
                                    .projector = qwen2_audio_projector,
                                    .placeholders = pooled_placeholders<pairs_of_frames>}},
                 .tie = tie_flag::never},
    hf_composite{.model_type = "voxtral",
                 .class_prefix = "Voxtral",
                 .heads = outer_heads,
                 .text_type = "llama",
                 .text_otherwise = R"({"vocab_size": 131072, "hidden_size": 3072, "intermediate_size": 8192,
                                       "num_hidden_layers": 30, "num_key_value_heads": 8, "head_dim": 128})",
                 .text_fills = true,
                 .towers = {hf_slot{.key = "audio_config",
                                    .model_type = "voxtral_encoder",
                                    .suffix = "Encoder",
                                    .projector = voxtral_projector,
                                    .placeholders = pooled_placeholders<stacked_frames>}},
                 .tie = tie_flag::never},
    hf_composite{.model_type = "audioflamingo3",
                 .class_prefix = "AudioFlamingo3",
                 .heads = outer_heads,
                 .text_type = "qwen2",
                 .towers = {hf_slot{.key = "audio_config",
                                    .model_type = "audioflamingo3_encoder",
                                    .suffix = "Encoder",
                                    .projector = audioflamingo3_projector,
                                    .placeholders = pooled_placeholders<pairs_of_frames>}},
                 .tie = tie_flag::never},
    hf_composite{.model_type = "glmasr",
                 .class_prefix = "GlmAsr",
                 .heads = outer_heads,
                 .text_type = "llama",
                 .text_otherwise = R"({"vocab_size": 59264, "hidden_size": 2048, "intermediate_size": 6144,
                                       "num_hidden_layers": 28, "num_attention_heads": 16,
                                       "num_key_value_heads": 4})",
                 .text_fills = true,
                 .towers = {hf_slot{.key = "audio_config",
                                    .model_type = "glmasr_encoder",
                                    .suffix = "Encoder",
                                    .projector = glmasr_projector,
                                    .placeholders = pooled_placeholders<four_frames>}},
                 .tie_word_embeddings = true},
};

}  // namespace floptally::detail
