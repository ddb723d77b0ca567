// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/hf/conformer_parts.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/wave_parts.hpp>
#include <floptally/detail/hf/wave_towers.hpp>
#include <floptally/error.hpp>
#include <floptally/model/audio.hpp>

/// @file
/// Conformers over features that are given: wav2vec 2.0 BERT, Parakeet.

namespace floptally::detail {

inline constexpr wave_kind wav2vec2_bert{
    .model_type = "wav2vec2-bert", .class_prefix = "Wav2Vec2Bert", .classes = 4, .vocab_size = derived};

/// The norm before it has weights, so that the projection passes a gradient on.
[[nodiscard]] inline cost wav2vec2_bert_stem(const hf_model& model) {
    const std::uint64_t in = model.config.dimension({"feature_projection_input_dim"}, 160);
    return feature_projection(in, model.sizes.hidden_size, true) + mask_embedding(model);
}

inline void resolve_wav2vec2_bert(hf_model& model) {
    note_layerdrop(model, "layerdrop", true);
    model.refuse_flag("add_adapter", true);
    model.refuse_flag("use_intermediate_ffn_before_adapter", true);
}

// ---- Parakeet ----

inline constexpr hf_size parakeet_mel_bins{{"num_mel_bins"}, 80};

/// Convolutions over frames and bins, each of which halves both: the first is dense, of the others each is one for
/// every channel and one across them.
[[nodiscard]] inline convolution_stem parakeet_convolutions(const hf_model& model) {
    const auto size = [&](std::string_view key, std::uint64_t otherwise) {
        return model.config.dimension({key}, otherwise);
    };
    const std::uint64_t channels = size("subsampling_conv_channels", 256);
    const std::uint64_t kernel = size("subsampling_conv_kernel_size", 3);
    const std::uint64_t stride = size("subsampling_conv_stride", 2);
    const std::uint64_t factor = size("subsampling_factor", 8);
    const std::uint64_t padding = (kernel - 1) / 2;
    std::uint64_t bins = model.read(parakeet_mel_bins);
    convolution_stem stem{.in_channels = 1};
    for (std::uint64_t left = factor; left > 1; left /= 2) {
        if (bins + 2 * padding < kernel) {
            throw error(model.config.field("subsampling_factor"), "leaves no bin of num_mel_bins (" +
                                                                      std::to_string(model.read(parakeet_mel_bins)) +
                                                                      "), got " + std::to_string(factor));
        }
        bins = (bins + 2 * padding - kernel) / stride + 1;
        const bool first = left == factor;
        stem.convolutions.push_back({.out_channels = channels,
                                     .kernel_size = static_cast<std::int64_t>(kernel),
                                     .stride = static_cast<std::int64_t>(stride),
                                     .padding = static_cast<std::int64_t>(padding),
                                     .groups = first ? 1 : channels,
                                     .bias = true,
                                     .bins = bins,
                                     .bin_kernel = kernel},
                                    "subsampling_factor");
        if (!first) {
            stem.convolutions.push_back({.out_channels = channels, .bias = true, .bins = bins}, "subsampling_factor");
        }
    }
    return stem;
}
[[nodiscard]] inline frame_rate parakeet_rate(const hf_model& model) { return parakeet_convolutions(model).after(); }

[[nodiscard]] inline cost parakeet_stem(const hf_model& model) {
    const convolution_stem convolutions = parakeet_convolutions(model);
    if (convolutions.convolutions.size() == 0) {
        throw error(model.config.field("subsampling_factor"), "must be at least 2, got 1");
    }
    const convolution& last = convolutions.convolutions[convolutions.convolutions.size() - 1];
    const mask frames = convolutions.after().frames();
    return convolutions.cost() +
           feature_projection(checked_multiply(last.out_channels, last.bins, "stem"), model.sizes.hidden_size, false)
               .over(frames, frames);
}

[[nodiscard]] inline cost parakeet_attention(const hf_model& model, const hf_layer& at) {
    return gqa_part(model, at) + projected_positions(model, at);
}
[[nodiscard]] inline cost parakeet_more(const hf_model& model, const hf_layer& at) {
    const std::uint64_t kernel = model.config.dimension({"conv_kernel_size"}, 9);
    return dense_part(model, at) +
           conformer_convolution(model, at, kernel, model.config.flag("convolution_bias", true));
}

inline constexpr std::array conformer_towers{
    [] {
        hf_family row = conformer(wave_family<wav2vec2_bert>());
        row.hidden_size = 1024;
        row.intermediate_size = 4096;
        row.num_hidden_layers = 24;
        row.num_attention_heads = 16;
        row.final_norm = false;
        row.attention = conformer_attention<true>;
        row.resolve = resolve_wav2vec2_bert;
        row.stem = wav2vec2_bert_stem;
        row.units = nullptr;
        return row;
    }(),
    hf_family{.model_type = "parakeet_encoder",
              .class_prefix = "Parakeet",
              .heads = tower_heads,
              .encoder = true,
              .vocab_size = 0,
              .hidden_size = 1024,
              .intermediate_size = 4096,
              .num_hidden_layers = 24,
              .num_attention_heads = 8,
              .num_key_value_heads = 8,
              .head_dim_may_be_null = true,
              .qkv_bias = {"attention_bias", true},
              .output_bias = {"attention_bias", true},
              .mlp_bias = {"attention_bias", true},
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .norms_per_layer = 6,
              .final_norm = false,
              .attention = parakeet_attention,
              .more = parakeet_more,
              .stem = parakeet_stem,
              .stands_in = modality::audio,
              .input = samples,
              .units = frames_at<parakeet_rate>},
};

}  // namespace floptally::detail
