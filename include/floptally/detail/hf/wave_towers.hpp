// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/audio_towers.hpp>
#include <floptally/detail/hf/bart_kin.hpp>
#include <floptally/detail/hf/conformer_parts.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/wave_parts.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/audio.hpp>

/// @file
/// wav2vec 2.0 and its kin: encoders of a waveform, whose clips are counted in samples.

namespace floptally::detail {

/// Scores are moved by a bias of relative positions, which eight numbers a head gate (arXiv:2110.13900, section 3.2).
[[nodiscard]] inline cost wavlm_attention(const hf_model& model, const hf_layer& at) {
    const hf_dimensions& sizes = model.sizes;
    cost sum = gqa_part(model, at);
    sum.add("attention.gate", linear{.in_features = sizes.head_dim,
                                     .out_features = 8,
                                     .applied = sizes.num_heads,
                                     .stored = 1,
                                     .reads = value::stream,
                                     .adaptable = false,
                                     .dealt = dealing::heads(sizes.num_heads)});
    sum.add_parameters("bias", term::bias, 8 + sizes.num_heads);
    if (at.where.index == 0) {
        const std::uint64_t buckets = model.config.dimension({"num_buckets"}, 320);
        sum.add_parameters("embedding", term::position_embedding, buckets * sizes.num_heads);
    }
    return sum;
}
[[nodiscard]] constexpr hf_family gated_scores(hf_family row) {
    row.attention = wavlm_attention;
    return row;
}

/// What differs between them.
struct wave_kind {
    std::string_view model_type;
    std::string_view class_prefix;
    std::size_t classes = 3;         ///< how many of `wave_heads` there are
    std::uint64_t vocab_size = 32;   ///< derived: a class with an lm_head must be given one
    bool norm_after_each = false;    ///< of the convolutions over the waveform
    bool adapters = false;           ///< `add_adapter` is honoured
    bool batch_norm_switch = false;  ///< `conv_pos_batch_norm` is, and `feat_proj_layer_norm`
    bool plain_positions = false;    ///< several convolutions of `conv_pos_kernel_size`, without a norm of weights
    bool unused_positions = false;   ///< the class has them and does not run them
    hf_family (*layers)(hf_family) = nullptr;  ///< of another kind
};

template <const wave_kind& Kind>
[[nodiscard]] std::uint64_t ctc_width(const hf_model& model) {
    return model.config.integer({"vocab_size"}, Kind.vocab_size, 1, max_vocabulary);
}

/// The convolutions in place of positions, over the frames. The weights of one are a product of lengths and directions,
/// unless a norm over the batch does the same.
template <const wave_kind& Kind>
[[nodiscard]] cost wave_positions(const hf_model& model) {
    const config_fields& config = model.config;
    if (Kind.plain_positions) {
        return config.integer({"num_conv_pos_embeddings"}, 5, 0, max_layers) *
               positional_convolution(model, config.dimension({"conv_pos_kernel_size"}, 19));
    }
    const std::uint64_t kernel = config.dimension({"num_conv_pos_embeddings"}, 128);
    cost sum = positional_convolution(model, kernel);
    const bool batch_norm = Kind.batch_norm_switch && config.flag("conv_pos_batch_norm", false);
    sum.add_parameters("norm", term::norm, batch_norm ? 2 * model.sizes.hidden_size : kernel);
    return sum;
}

template <const wave_kind& Kind>
[[nodiscard]] cost wave_stem(const hf_model& model) {
    const convolution_stem waves = wave_convolutions<seven_convolutions>(model);
    const mask frames = waves.after().frames();
    const bool norm = !Kind.batch_norm_switch || model.config.flag("feat_proj_layer_norm", true);
    const cost projection = feature_projection(last_width(waves), model.sizes.hidden_size, norm);
    const cost positions = wave_positions<Kind>(model);
    cost sum = waves.cost();
    sum.add_parameters("norm", term::norm, 2 * normed_widths(model, waves, Kind.norm_after_each));
    sum += (Kind.unused_positions ? projection : projection + positions).over(frames, frames);
    if (Kind.unused_positions) {
        sum.add_parameters("embedding", term::position_embedding, positions.parameters());
    }
    return sum + mask_embedding(model);
}

template <const wave_kind& Kind>
void resolve_wave(hf_model& model) {
    note_layerdrop(model, "layerdrop", true);
    if (!Kind.adapters) {
        model.refuse_flag("add_adapter", true);
    } else if (has_adapter(model) && is_class_of_clips(model)) {
        throw error(model.config.field("add_adapter"), "must be false in a class that classifies, got true");
    }
}

template <const wave_kind& Kind>
[[nodiscard]] constexpr hf_family wave_stack() {
    const hf_family row{.model_type = Kind.model_type,
                        .class_prefix = Kind.class_prefix,
                        .heads = {},
                        .encoder = true,
                        .vocab_size = 0,
                        .hidden_size = 768,
                        .intermediate_size = 3072,
                        .num_hidden_layers = 12,
                        .num_attention_heads = 12,
                        .has_kv_heads = false,
                        .has_head_dim = false,
                        .heads_divide_hidden = true,
                        .qkv_bias = always,
                        .output_bias = always,
                        .mlp_bias = always,
                        .mlp = mlp_kind::plain,
                        .norm = norm_kind::layer,
                        .more = attention_adapter,
                        .once = clip_layer_weights,
                        .resolve = resolve_wave<Kind>,
                        .stem = wave_stem<Kind>,
                        .stands_in = modality::audio,
                        .input = samples,
                        .units = frames_at<wave_rate<seven_convolutions>>};
    if (Kind.layers != nullptr) {
        return Kind.layers(row);
    }
    return row;
}

inline constexpr std::array xvector_heads{head{"ForXVector", {}}};

template <const wave_kind& Kind>
inline constexpr hf_family wave_xvector = [] {
    hf_family row = wave_stack<Kind>();
    row.heads = xvector_heads;
    row.after = xvector<seven_convolutions>;
    return row;
}();

template <const wave_kind& Kind>
inline constexpr std::array wave_heads{
    head{"ForCTC", {{.out = ctc_width<Kind>, .bias = true, .in = adapted_width}}},
    head{"Model", {}},
    head{"ForSequenceClassification",
         {{classifier_projection, per_token, true},
          {.out = labels_width, .rows = per_sequence, .bias = true, .in = classifier_projection}}},
    head{"ForAudioFrameClassification", {{labels_width, per_token, true}}},
    head{"ForXVector", {}, &wave_xvector<Kind>},
};

template <const wave_kind& Kind>
[[nodiscard]] constexpr hf_family wave_family() {
    hf_family row = wave_stack<Kind>();
    row.heads = std::span<const head>(wave_heads<Kind>).first(Kind.classes);
    if (Kind.adapters) {
        row.after = wave_adapter<seven_convolutions>;
        row.units_after = frames_at<adapted_rate<seven_convolutions>>;
    }
    return row;
}

inline constexpr wave_kind wav2vec2{
    .model_type = "wav2vec2", .class_prefix = "Wav2Vec2", .classes = 5, .adapters = true};
inline constexpr wave_kind hubert{.model_type = "hubert", .class_prefix = "Hubert", .batch_norm_switch = true};
inline constexpr wave_kind unispeech{.model_type = "unispeech", .class_prefix = "UniSpeech"};
inline constexpr wave_kind unispeech_sat{.model_type = "unispeech-sat", .class_prefix = "UniSpeechSat", .classes = 5};
inline constexpr wave_kind data2vec_audio{.model_type = "data2vec-audio",
                                          .class_prefix = "Data2VecAudio",
                                          .classes = 5,
                                          .norm_after_each = true,
                                          .adapters = true,
                                          .plain_positions = true};
inline constexpr wave_kind wavlm{
    .model_type = "wavlm", .class_prefix = "WavLM", .classes = 5, .adapters = true, .layers = gated_scores};
inline constexpr wave_kind wav2vec2_conformer{.model_type = "wav2vec2-conformer",
                                              .class_prefix = "Wav2Vec2Conformer",
                                              .classes = 5,
                                              .vocab_size = derived,
                                              .adapters = true,
                                              .unused_positions = true,
                                              .layers = conformer};

// ---- SEW: the layers run on every second frame ----

inline constexpr wave_kind sew{.model_type = "sew", .class_prefix = "SEW"};

[[nodiscard]] inline std::uint64_t squeeze_factor(const hf_model& model) {
    return model.config.dimension({"squeeze_factor"}, 2);
}
[[nodiscard]] inline frame_rate squeezed_rate(const hf_model& model) {
    return wave_rate<thirteen_convolutions>(model).pooled(static_cast<std::int64_t>(squeeze_factor(model)));
}

[[nodiscard]] inline cost sew_stem(const hf_model& model) {
    const convolution_stem waves = wave_convolutions<thirteen_convolutions>(model);
    const std::uint64_t width = last_width(waves);
    const mask frames = waves.after().frames();
    const mask squeezed = squeezed_rate(model).frames();
    cost sum = waves.cost();
    sum.add_parameters("norm", term::norm, 2 * normed_widths(model, waves, false));
    if (width == model.sizes.hidden_size) {
        sum.add_parameters("norm", term::norm, 2 * width);
    } else {
        sum += feature_projection(width, model.sizes.hidden_size, true).over(frames, frames);
    }
    return sum + wave_positions<sew>(model).over(squeezed, squeezed) + mask_embedding(model);
}
/// Each of the layers' frames becomes as many as were squeezed into it.
[[nodiscard]] inline cost sew_upsampling(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t wide = checked_multiply(h, squeeze_factor(model), "upsample");
    cost sum;
    sum.add("upsample", linear{.in_features = h, .out_features = wide, .weight = "projection"},
            squeezed_rate(model).frames());
    sum.add_parameters("bias", term::bias, wide);
    return sum;
}

inline constexpr std::array wave_towers{
    wave_family<wav2vec2>(),
    wave_family<hubert>(),
    wave_family<unispeech>(),
    wave_family<unispeech_sat>(),
    wave_family<data2vec_audio>(),
    wave_family<wavlm>(),
    [] {
        hf_family row = wave_family<sew>();
        row.stem = sew_stem;
        row.units = frames_at<squeezed_rate>;
        row.after = sew_upsampling;
        row.units_after = frames_at<wave_rate<thirteen_convolutions>>;
        return row;
    }(),
    wave_family<wav2vec2_conformer>(),
};

}  // namespace floptally::detail
