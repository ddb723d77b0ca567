// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/hf/audio_towers.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/error.hpp>
#include <floptally/model/audio.hpp>

/// @file
/// The audio towers of Qwen's omni models: clips of any length, in chunks of `2 x n_window` frames, attention in
/// windows.

namespace floptally::detail {

inline constexpr std::array audio_encoder_heads{head{"AudioEncoder", {}}};

[[nodiscard]] inline std::uint64_t omni_output(const hf_model& model) {
    return model.config.dimension({"output_dim"}, 3584);
}

/// The two linears at the end, or the last of them alone.
[[nodiscard]] inline cost omni_projection(const hf_model& model, bool first_too) {
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t out = omni_output(model);
    cost sum;
    if (first_too) {
        sum.add("merger", linear{.in_features = h, .out_features = h, .weight = "proj1"});
    }
    sum.add("merger", linear{.in_features = h, .out_features = out, .weight = first_too ? "proj2" : "proj"});
    sum.add_parameters("bias", term::bias, out + (first_too ? h : 0));
    return sum;
}

// ---- Qwen2.5-Omni: Whisper's stem, whose chunks are the windows too ----

[[nodiscard]] inline hf_stream windowed_frames(const hf_model& model) {
    const frame_rate rate = whisper_rate(model);
    return {rate.frames(), rate.squares(static_cast<std::int64_t>(model.config.dimension({"n_window"}, 100)))};
}
[[nodiscard]] inline cost qwen2_5_omni_stem(const hf_model& model) {
    cost sum = whisper_convolutions(model.read(mel_bins_128), model.sizes.hidden_size).cost();
    sum.add_parameters("embedding", term::position_embedding, 2 * omni_output(model));  // begin and end of a clip
    return sum;
}
[[nodiscard]] inline cost qwen2_5_omni_projection(const hf_model& model) {
    const mask pairs = whisper_rate(model).pooled(2).frames();
    return omni_projection(model, false).over(pairs, pairs);
}
[[nodiscard]] inline tower_input qwen2_5_omni_clips(const hf_model& model) {
    return {.units = whisper_rate(model).pooled(2).frames(), .per_unit = 1};
}

// ---- Qwen3-Omni: each chunk by itself through three convolutions over frames and bins ----

[[nodiscard]] inline convolution_stem qwen3_omni_convolutions(const hf_model& model) {
    constexpr std::int64_t frames_of_a_chunk = 13;
    const std::uint64_t channels = model.config.dimension({"downsample_hidden_size"}, 480);
    const std::uint64_t half = model.config.dimension({"n_window"}, 50);
    std::uint64_t bins = model.read(mel_bins_128);
    convolution_stem stem{.in_channels = 1, .before = {.chunk = static_cast<std::int64_t>(2 * half)}};
    for (int i = 0; i < 3; ++i) {
        bins = (bins + 1) / 2;
        stem.convolutions.push_back({.out_channels = channels,
                                     .kernel_size = 3,
                                     .stride = 2,
                                     .padding = 1,
                                     .bias = true,
                                     .bins = bins,
                                     .bin_kernel = 3},
                                    "convolutions");
    }
    const frame_rate rate = stem.after();
    if (strided(2 * half, rate.field, rate.stride) != frames_of_a_chunk) {
        throw error(model.config.field("n_window"),
                    "must be from 49 to 52, since the class takes the chunks of twice as many frames for 13; got " +
                        std::to_string(half));
    }
    return stem;
}

[[nodiscard]] inline hf_stream qwen3_omni_frames(const hf_model& model) {
    const frame_rate rate = qwen3_omni_convolutions(model).after();
    const std::uint64_t window = model.config.dimension({"n_window_infer"}, 800);
    const auto chunks = static_cast<std::int64_t>(window) / rate.chunk;
    if (chunks == 0) {
        throw error(
            model.config.field("n_window_infer"),
            "must be at least 2 x n_window (" + std::to_string(rate.chunk) + "), got " + std::to_string(window));
    }
    return {rate.frames(), rate.squares(13 * chunks)};
}
[[nodiscard]] inline cost qwen3_omni_stem(const hf_model& model) {
    const convolution_stem convolutions = qwen3_omni_convolutions(model);
    const convolution& last = convolutions.convolutions[2];
    cost sum = convolutions.cost();
    sum.add("stem",
            linear{.in_features = checked_multiply(last.out_channels, last.bins, "stem"),
                   .out_features = model.sizes.hidden_size,
                   .weight = "conv_out",
                   .dealt = dealing::repeated()},
            convolutions.after().frames());
    return sum;
}
[[nodiscard]] inline cost qwen3_omni_projection(const hf_model& model) {
    const hf_stream layers = qwen3_omni_frames(model);
    return omni_projection(model, true).over(layers.units, layers.attends);
}
[[nodiscard]] inline tower_input qwen3_omni_clips(const hf_model& model) {
    return {.units = qwen3_omni_frames(model).units, .per_unit = 1};
}

inline constexpr std::array omni_audio_towers{
    [] {
        hf_family row = renamed(qwen2_audio_encoder, "qwen2_5_omni_audio_encoder", "Qwen2_5Omni");
        row.heads = audio_encoder_heads;
        row.stem = qwen2_5_omni_stem;
        row.after = qwen2_5_omni_projection;
        row.input = qwen2_5_omni_clips;
        row.units = windowed_frames;
        return row;
    }(),
    [] {
        hf_family row = renamed(qwen2_audio_encoder, "qwen3_omni_moe_audio_encoder", "Qwen3OmniMoe");
        row.heads = audio_encoder_heads;
        row.encoder = true;
        row.qkv_bias = always;
        row.output_bias = always;
        row.attention = gqa_part;
        row.stem = qwen3_omni_stem;
        row.after = qwen3_omni_projection;
        row.input = qwen3_omni_clips;
        row.units = qwen3_omni_frames;
        return row;
    }(),
};

}  // namespace floptally::detail
