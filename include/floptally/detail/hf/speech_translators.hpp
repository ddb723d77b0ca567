// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/audio_towers.hpp>
#include <floptally/detail/hf/bart_kin.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/wave_parts.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/audio.hpp>

/// @file
/// Encoder-decoders from sound to text besides Whisper: Speech2Text, Moonshine.

namespace floptally::detail {

// ---- Speech2Text: BART's layers behind convolutions, each gated and each halving the frames ----

inline constexpr bart_kind speech_to_text{.model_type = "speech_to_text",
                                          .class_prefix = "Speech2Text",
                                          .vocab_size = 10000,
                                          .hidden_size = 256,
                                          .ffn_dim = 2048,
                                          .num_heads = 4,
                                          .encoder_layers = 12,
                                          .decoder_layers = 6,
                                          .positions = 0,
                                          .embedding_norm = false,
                                          .final_norm = true,
                                          .classes = 2};

[[nodiscard]] inline convolution_stem speech_convolutions(const hf_model& model) {
    constexpr std::array<std::uint64_t, 2> otherwise{5, 5};
    const std::vector<std::uint64_t> kernels = read_list(model, "conv_kernel_sizes", otherwise);
    const std::uint64_t layers = model.config.dimension({"num_conv_layers"}, 2);
    require_as_many(static_cast<std::size_t>(layers), "num_conv_layers", kernels.size(),
                    model.config.field("conv_kernel_sizes"));
    const std::uint64_t between = model.config.dimension({"conv_channels"}, 1024);
    if (between % 2 != 0) {
        throw error(model.config.field("conv_channels"), "must be even, got " + std::to_string(between));
    }
    convolution_stem stem{.in_channels = model.config.dimension({"input_feat_per_channel"}, 80) *
                                         model.config.dimension({"input_channels"}, 1)};
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const bool last = i + 1 == kernels.size();
        stem.convolutions.push_back({.out_channels = last ? 2 * model.sizes.hidden_size : between,
                                     .kernel_size = static_cast<std::int64_t>(kernels[i]),
                                     .stride = 2,
                                     .padding = static_cast<std::int64_t>(kernels[i] / 2),
                                     .bias = true,
                                     .gated = true},
                                    "conv_kernel_sizes");
    }
    return stem;
}
[[nodiscard]] inline frame_rate speech_rate(const hf_model& model) { return speech_convolutions(model).after(); }
[[nodiscard]] inline cost speech_stem(const hf_model& model) { return speech_convolutions(model).cost(); }

inline constexpr hf_family speech_encoder = [] {
    hf_family row = bart_encoder<speech_to_text>;
    row.stem = speech_stem;
    row.stands_in = modality::audio;
    row.input = any_clips<speech_rate>;
    row.units = frames_at<speech_rate>;
    return row;
}();

// ---- Moonshine (arXiv:2410.15608) ----

[[nodiscard]] inline convolution_stem moonshine_convolutions(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    return {.in_channels = 1,
            .convolutions = {{.out_channels = h, .kernel_size = 127, .stride = 64},
                             {.out_channels = 2 * h, .kernel_size = 7, .stride = 3, .bias = true},
                             {.out_channels = h, .kernel_size = 3, .stride = 2, .bias = true}}};
}
[[nodiscard]] inline frame_rate moonshine_rate(const hf_model& model) { return moonshine_convolutions(model).after(); }
[[nodiscard]] inline cost moonshine_stem(const hf_model& model) {
    cost sum = moonshine_convolutions(model).cost();
    sum.add_parameters("norm", term::norm, 2 * model.sizes.hidden_size);
    return sum;
}

/// Its class splits queries by the number of key and value heads.
inline void resolve_moonshine(hf_model& model) {
    if (model.sizes.num_kv_heads != model.sizes.num_heads) {
        throw error(
            model.config.field(model.config.spelling({"num_key_value_heads", model.family.also.num_key_value_heads})),
            "must be the number of attention heads (" + std::to_string(model.sizes.num_heads) +
                "), which is all that the class runs; got " + std::to_string(model.sizes.num_kv_heads));
    }
}

/// Norms have no bias. Padding of the head dims to a multiple is an implementation's.
[[nodiscard]] constexpr hf_family moonshine_side() {
    return {.model_type = "moonshine",
            .class_prefix = "Moonshine",
            .heads = {},
            .vocab_size = 32768,
            .hidden_size = 288,
            .intermediate_size = 1152,
            .num_hidden_layers = 6,
            .num_attention_heads = 8,
            .kv_heads_may_be_null = true,
            .head_dim_may_be_null = true,
            .heads_divide_hidden = true,
            .tie_word_embeddings = true,
            .qkv_bias = if_attention_bias,
            .mlp_bias = always,
            .resolve = resolve_moonshine};
}

inline constexpr hf_family moonshine_encoder = [] {
    hf_family row = moonshine_side();
    row.also = {.num_hidden_layers = "encoder_num_hidden_layers",
                .num_attention_heads = "encoder_num_attention_heads",
                .num_key_value_heads = "encoder_num_key_value_heads"};
    row.encoder = true;
    row.mlp = mlp_kind::plain;
    row.stem = moonshine_stem;
    row.stands_in = modality::audio;
    row.input = any_clips<moonshine_rate>;
    row.units = frames_at<moonshine_rate>;
    return row;
}();

inline constexpr std::array speech_translators{
    [] {
        hf_family row = bart_family<speech_to_text>();
        row.once = nullptr;
        row.encoder_side = &speech_encoder;
        return row;
    }(),
    [] {
        hf_family row = moonshine_side();
        row.also = {.num_hidden_layers = "decoder_num_hidden_layers",
                    .num_attention_heads = "decoder_num_attention_heads",
                    .num_key_value_heads = "decoder_num_key_value_heads"};
        row.heads = std::span<const head>(whisper_heads).first(2);
        row.norms_per_layer = 3;
        row.cross = cross_part;
        row.encoder_side = &moonshine_encoder;
        return row;
    }(),
};

}  // namespace floptally::detail
