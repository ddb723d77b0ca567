// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/bart_kin.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/audio.hpp>

/// @file
/// Whisper, and the towers that are its encoder: two convolutions over mel frames, of which the second halves them.

namespace floptally::detail {

/// The stream of frames at a rate that `Rate` says.
template <frame_rate (*Rate)(const hf_model&)>
[[nodiscard]] hf_stream frames_at(const hf_model& model) {
    const frame_rate rate = Rate(model);
    return {rate.frames(), rate.squares()};
}
/// Clips of any length: one token for each frame that is left, or one key of a decoder that attends them.
template <frame_rate (*Rate)(const hf_model&)>
[[nodiscard]] tower_input any_clips(const hf_model& model) {
    return {.units = Rate(model).frames(), .per_unit = 1};
}

// ---- the encoder ----

inline constexpr hf_size mel_bins_80{{"num_mel_bins"}, 80};
inline constexpr hf_size mel_bins_128{{"num_mel_bins"}, 128};
inline constexpr hf_size source_positions{{"max_source_positions"}, 1500};

[[nodiscard]] inline convolution_stem whisper_convolutions(std::uint64_t bins, std::uint64_t hidden_size) {
    const convolution one{.out_channels = hidden_size, .kernel_size = 3, .padding = 1, .bias = true};
    convolution halves = one;
    halves.stride = 2;
    return {.in_channels = bins, .convolutions = {one, halves}};
}
[[nodiscard]] inline frame_rate whisper_rate(const hf_model&) { return whisper_convolutions(1, 1).after(); }

/// Positions are a table that is not trained, but stored.
template <const hf_size& Bins>
[[nodiscard]] cost whisper_stem(const hf_model& model) {
    cost sum = whisper_convolutions(model.read(Bins), model.sizes.hidden_size).cost();
    sum.add_parameters("embedding", term::position_embedding,
                       checked_multiply(model.read(source_positions), model.sizes.hidden_size, "embedding"));
    return sum;
}
/// Positions are rotations.
[[nodiscard]] inline cost glmasr_stem(const hf_model& model) {
    return whisper_convolutions(model.read(mel_bins_128), model.sizes.hidden_size).cost();
}

/// Every clip is padded to all positions, which are half of the frames.
[[nodiscard]] inline tower_input whisper_input(const hf_model& model) {
    const std::uint64_t positions = model.config.integer({"max_source_positions"}, 1500, 1, max_dimension);
    return {.clip = audio_clip{static_cast<std::uint32_t>(2 * positions)},
            .units = whisper_rate(model).frames(),
            .per_unit = 1};
}

/// All but the key projection have a bias.
[[nodiscard]] inline gqa whisper_gqa(const hf_model& model) {
    gqa part = read_gqa(model);
    part.elementwise.bias = (part.num_heads + part.num_kv_heads) * part.head_dim + model.sizes.hidden_size;
    return part;
}
[[nodiscard]] inline cost whisper_attention(const hf_model& model, const hf_layer& at) {
    return whisper_gqa(model).cost(at.where);
}
[[nodiscard]] inline cost whisper_encoder_attention(const hf_model& model, const hf_layer& at) {
    layer where = at.where;
    where.attends = mask::bidirectional();
    return whisper_gqa(model).cost(where);
}

inline constexpr std::array tower_heads{head{"Encoder", {}}};

/// The encoders that have a `model_type` of their own.
[[nodiscard]] constexpr hf_family whisper_tower(std::string_view model_type, std::string_view class_prefix) {
    return {.model_type = model_type,
            .class_prefix = class_prefix,
            .heads = tower_heads,
            .vocab_size = 0,
            .hidden_size = 1280,
            .intermediate_size = 5120,
            .num_hidden_layers = 32,
            .num_attention_heads = 20,
            .has_kv_heads = false,
            .has_head_dim = false,
            .heads_divide_hidden = true,
            .mlp_bias = always,
            .mlp = mlp_kind::plain,
            .norm = norm_kind::layer,
            .attention = whisper_encoder_attention,
            .stem = whisper_stem<mel_bins_128>,
            .stands_in = modality::audio,
            .input = whisper_input,
            .units = frames_at<whisper_rate>};
}

inline constexpr hf_family qwen2_audio_encoder = [] {
    hf_family row = whisper_tower("qwen2_audio_encoder", "Qwen2Audio");
    row.also = {.hidden_size = "d_model",
                .num_hidden_layers = "encoder_layers",
                .num_attention_heads = "encoder_attention_heads"};
    row.intermediate_keys = {"intermediate_size", "encoder_ffn_dim"};
    return row;
}();
/// Short names are read too.
inline constexpr hf_family voxtral_encoder = renamed(qwen2_audio_encoder, "voxtral_encoder", "Voxtral");
inline constexpr hf_family audioflamingo3_encoder =
    renamed(qwen2_audio_encoder, "audioflamingo3_encoder", "AudioFlamingo3");
inline constexpr hf_family glmasr_encoder = [] {
    hf_family row = whisper_tower("glmasr_encoder", "GlmAsr");
    row.has_kv_heads = true;
    row.kv_heads_may_be_null = true;
    row.has_head_dim = true;
    row.head_dim_may_be_null = true;
    row.heads_divide_hidden = false;
    row.stem = glmasr_stem;
    row.input = any_clips<whisper_rate>;
    return row;
}();

// ---- Whisper ----

inline constexpr bart_kind whisper{.model_type = "whisper",
                                   .class_prefix = "Whisper",
                                   .vocab_size = 51865,
                                   .hidden_size = 384,
                                   .ffn_dim = 1536,
                                   .num_heads = 6,
                                   .encoder_layers = 4,
                                   .decoder_layers = 4,
                                   .positions = 448,
                                   .embedding_norm = false,
                                   .final_norm = true};

[[nodiscard]] inline std::uint64_t classifier_projection(const hf_model& model) {
    return model.config.dimension({"classifier_proj_size"}, 256);
}
/// A weight for each hidden state, where the classifier takes the sum of all.
[[nodiscard]] inline cost layer_weights(const hf_model& model) {
    cost sum;
    if (model.config.flag("use_weighted_layer_sum", false)) {
        sum.add_parameters("bias", term::bias, model.sizes.num_layers + 1);
    }
    return sum;
}

inline constexpr std::array speech_classifier_heads{
    head{"ForAudioClassification",
         {{classifier_projection, per_token, true},
          {.out = labels_width, .rows = per_sequence, .bias = true, .in = classifier_projection}}},
};

[[nodiscard]] constexpr hf_family whisper_side(const hf_family& stack) {
    hf_family row = stack;
    row.also.max_position_embeddings = "max_target_positions";
    row.qkv_bias = {};
    row.output_bias = {};
    row.attention = whisper_attention;
    return row;
}

inline constexpr hf_family whisper_encoder = [] {
    hf_family row = whisper_side(bart_encoder<whisper>);
    row.vocab_size = 0;
    row.attention = whisper_encoder_attention;
    row.heads = speech_classifier_heads;
    row.once = layer_weights;
    row.stem = whisper_stem<mel_bins_80>;
    row.stands_in = modality::audio;
    row.input = whisper_input;
    row.units = frames_at<whisper_rate>;
    return row;
}();

[[nodiscard]] inline cost whisper_cross(const hf_model& model, const hf_layer& at) {
    return cross_of(whisper_gqa(model), at);
}
[[nodiscard]] inline cost whisper_idle_cross(const hf_model& model, const hf_layer& at) {
    return idle_cross_of(whisper_gqa(model), at);
}

inline constexpr hf_family whisper_decoder = [] {
    hf_family row = whisper_side(bart_decoder<whisper>);
    row.cross = whisper_idle_cross;
    return row;
}();

inline constexpr std::array whisper_heads{
    head{"ForConditionalGeneration", {{vocabulary_width}}},
    head{"Model", {}},
    head{"ForCausalLM", {{vocabulary_width}}, &whisper_decoder},
    head{"ForAudioClassification", {}, &whisper_encoder},
};

inline constexpr std::array audio_towers{
    [] {
        hf_family row = whisper_decoder;
        row.heads = whisper_heads;
        row.cross = whisper_cross;
        row.encoder_side = &whisper_encoder;
        return row;
    }(),
    qwen2_audio_encoder,
    voxtral_encoder,
    audioflamingo3_encoder,
    glmasr_encoder,
};

}  // namespace floptally::detail
