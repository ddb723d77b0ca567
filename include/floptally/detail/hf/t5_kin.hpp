// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/mask.hpp>

/// @file
/// T5 and its multilingual kin.

namespace floptally::detail {

/// One type: names and defaults.
struct t5_kind {
    std::string_view model_type;
    std::string_view class_prefix;
    std::uint64_t vocab_size = 250112;
    std::uint64_t ffn_dim = 1024;
    std::uint64_t num_layers = 8;
    std::uint64_t num_heads = 6;
    mlp_kind mlp = mlp_kind::gated;
    bool bias_in_every_layer = false;  ///< of positions; else the first layer's is every layer's
};

/// Relative positions are a table of a number per head, for each bucket of distances.
template <const t5_kind& Kind>
[[nodiscard]] cost t5_attention(const hf_model& model, const hf_layer& at) {
    cost sum = read_gqa(model).cost(at.where);
    if (Kind.bias_in_every_layer || at.where.index == 0) {
        const std::uint64_t buckets = model.config.dimension({"relative_attention_num_buckets"}, 32);
        sum.add_parameters("embedding", term::position_embedding,
                           checked_multiply(buckets, model.sizes.num_heads, "embedding"));
    }
    return sum;
}

template <const t5_kind& Kind>
[[nodiscard]] cost t5_encoder_attention(const hf_model& model, const hf_layer& at) {
    hf_layer both_sides = at;
    both_sides.where.attends = mask::bidirectional();
    return t5_attention<Kind>(model, both_sides);
}

/// "gated-" and an activation, or an activation alone. A saved config says it once more, and that wins.
[[nodiscard]] inline bool t5_is_gated(const hf_model& model) {
    const config_fields& config = model.config;
    constexpr std::string_view key = "feed_forward_proj";
    const bool by_default = model.family.mlp == mlp_kind::gated;
    const std::string name = config.text(key, by_default ? "gated-gelu" : "relu");
    const bool gated = name.starts_with("gated-");
    if (name.find('-', gated ? 6 : 0) != std::string::npos) {
        throw error(config.field(key), R"(must be an activation or "gated-" and one, got )" + shown(name));
    }
    return config.flag("is_gated_act", gated);
}

[[nodiscard]] inline cost t5_dense(const hf_model& model, const hf_layer& at) {
    const std::uint64_t width = model.sizes.intermediate_size;
    return t5_is_gated(model) ? gated_mlp{.intermediate_size = width}.cost(at.where)
                              : mlp{.intermediate_size = width}.cost(at.where);
}

/// As many layers as the encoder has, where the config does not say it.
inline void take_t5_decoder(hf_model& model) {
    constexpr std::string_view key = "num_decoder_layers";
    if (model.config.has_value(key)) {
        model.sizes.num_layers = model.config.integer({key}, required, 1, max_layers);
    }
}

template <const t5_kind& Kind>
[[nodiscard]] constexpr hf_family t5_stack() {
    return {.model_type = Kind.model_type,
            .class_prefix = Kind.class_prefix,
            .heads = {},
            .also = {.hidden_size = "d_model",
                     .num_hidden_layers = "num_layers",
                     .num_attention_heads = "num_heads",
                     .head_dim = "d_kv"},
            .vocab_size = Kind.vocab_size,
            .hidden_size = 512,
            .intermediate_size = Kind.ffn_dim,
            .intermediate_keys = {"d_ff"},
            .num_hidden_layers = Kind.num_layers,
            .num_attention_heads = Kind.num_heads,
            .has_kv_heads = false,
            .head_dim = 64,
            .tie_word_embeddings = true,
            .always_tied = true,
            .mlp = Kind.mlp,
            .dense = t5_dense};
}

inline constexpr std::array t5_encoder_heads{
    head{"EncoderModel", {}},
    head{"ForTokenClassification", {{labels_width, per_token, true}}},
};

template <const t5_kind& Kind>
inline constexpr hf_family t5_encoder = [] {
    hf_family row = t5_stack<Kind>();
    row.heads = t5_encoder_heads;
    row.attention = t5_encoder_attention<Kind>;
    return row;
}();

template <const t5_kind& Kind>
inline constexpr std::array t5_heads{
    head{"ForConditionalGeneration", {{vocabulary_width}}},
    head{"WithLMHeadModel", {{vocabulary_width}}},  // its name in 2020, and in files of that year
    head{"Model", {}},
    head{"EncoderModel", {}, &t5_encoder<Kind>},
    head{"ForSequenceClassification", {{hidden_width, per_sequence, true}, {labels_width, per_sequence, true}}},
    head{"ForTokenClassification", {}, &t5_encoder<Kind>},
    head{"ForQuestionAnswering", {{labels_width, per_token, true}}},
};

template <const t5_kind& Kind>
[[nodiscard]] constexpr hf_family t5_family() {
    hf_family row = t5_stack<Kind>();
    row.heads = t5_heads<Kind>;
    row.norms_per_layer = 3;
    row.attention = t5_attention<Kind>;
    row.cross = cross_part;
    row.resolve = take_t5_decoder;
    row.encoder_side = &t5_encoder<Kind>;
    return row;
}

inline constexpr t5_kind t5{.model_type = "t5",
                            .class_prefix = "T5",
                            .vocab_size = 32128,
                            .ffn_dim = 2048,
                            .num_layers = 6,
                            .num_heads = 8,
                            .mlp = mlp_kind::plain};
inline constexpr t5_kind mt5{.model_type = "mt5", .class_prefix = "MT5"};
inline constexpr t5_kind umt5{.model_type = "umt5", .class_prefix = "UMT5", .bias_in_every_layer = true};

inline constexpr std::array t5_kin{t5_family<t5>(), t5_family<mt5>(), t5_family<umt5>()};

}  // namespace floptally::detail
