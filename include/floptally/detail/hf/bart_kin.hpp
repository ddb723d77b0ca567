// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>

/// @file
/// BART and the encoder-decoders that share its layers. They differ in sizes, in the table of positions and in the
/// norms around the layers.

namespace floptally::detail {

/// Not tied, each side has a table of its own, and the one that they would share is kept besides.
[[nodiscard]] inline cost untied_tables(const hf_model& model) {
    cost sum;
    if (!model.config.flag("tie_word_embeddings", true)) {
        sum.add_parameters("embedding", term::embedding, 2 * model.sizes.vocab_size * model.sizes.hidden_size);
    }
    return sum;
}

/// One type: names, defaults, and what is its own.
struct bart_kind {
    std::string_view model_type;
    std::string_view class_prefix;
    std::uint64_t vocab_size = 50265;
    std::uint64_t hidden_size = 1024;
    std::uint64_t ffn_dim = 4096;  ///< of both sides, like the heads
    std::uint64_t num_heads = 16;
    std::uint64_t encoder_layers = 12;
    std::uint64_t decoder_layers = 12;
    std::uint64_t positions = 1024;  ///< 0: no table, they are computed
    std::uint64_t position_offset = 0;
    bool embedding_norm = true;
    bool final_norm = false;
    bool layerdrop = false;  ///< whether its default is above 0
    std::string_view generator = "ForConditionalGeneration";
    std::size_t classes = 3;   ///< how many of `bart_heads` there are
    std::uint64_t labels = 2;  ///< of a classifier, where the config does not say it
    hf_resolve check = nullptr;
    hf_extra tables = untied_tables;
};

template <const bart_kind& Kind>
[[nodiscard]] std::uint64_t bart_labels(const hf_model& model) {
    const bool given = model.config.contains("num_labels") || model.config.has_value("id2label");
    return given ? labels_width(model) : Kind.labels;
}

inline void note_layerdrop(hf_model& model, std::string_view key, bool by_default) {
    const json* rate = model.config.find(key);
    if (rate != nullptr ? rate->is_number() && rate->get<double>() > 0 : by_default) {
        model.notes.push_back(
            std::string(key).append(" skips layers at random in training: counted as if none were skipped"));
    }
}

/// The common rules have read the encoder's sizes, to which the names without a side belong.
template <const bart_kind& Kind>
void take_bart_decoder(hf_model& model) {
    const config_fields& config = model.config;
    hf_dimensions& sizes = model.sizes;
    sizes.num_layers = config.integer({"decoder_layers"}, Kind.decoder_layers, 1, max_layers);
    sizes.intermediate_size = config.dimension({"decoder_ffn_dim"}, Kind.ffn_dim);
    sizes.num_heads = sizes.num_kv_heads = config.dimension({"decoder_attention_heads"}, Kind.num_heads);
    if (sizes.hidden_size % sizes.num_heads != 0) {
        throw error(config.field("decoder_attention_heads"), "must divide hidden_size (" +
                                                                 std::to_string(sizes.hidden_size) + "), got " +
                                                                 std::to_string(sizes.num_heads));
    }
    sizes.head_dim = sizes.hidden_size / sizes.num_heads;
    if (model.family.encoder_side != nullptr) {
        note_layerdrop(model, "encoder_layerdrop", Kind.layerdrop);
    }
    note_layerdrop(model, "decoder_layerdrop", Kind.layerdrop);
    if (Kind.check != nullptr) {
        Kind.check(model);
    }
}

/// An encoder's attention, whatever `is_decoder` says of the other side.
[[nodiscard]] inline cost encoder_part(const hf_model& model, const hf_layer& at) {
    layer where = at.where;
    where.attends = mask::bidirectional();
    return read_gqa(model).cost(where);
}

/// The cross attention of a decoder that runs without its encoder: weights, no products.
[[nodiscard]] inline cost idle_cross_of(const gqa& own, const hf_layer& at) {
    cost sum;
    sum.add("cross_attention", linear{.in_features = at.where.hidden_size,
                                      .out_features = own.num_heads * own.head_dim,
                                      .applied = 0,
                                      .stored = 4});
    own.elementwise.add_to(sum);
    return sum;
}
[[nodiscard]] inline cost idle_cross_part(const hf_model& model, const hf_layer& at) {
    return idle_cross_of(read_gqa(model), at);
}

template <const bart_kind& Kind>
[[nodiscard]] constexpr hf_family bart_stack() {
    return {.model_type = Kind.model_type,
            .class_prefix = Kind.class_prefix,
            .heads = {},
            .also = {.hidden_size = "d_model",
                     .num_hidden_layers = "encoder_layers",
                     .num_attention_heads = "encoder_attention_heads"},
            .vocab_size = Kind.vocab_size,
            .hidden_size = Kind.hidden_size,
            .intermediate_size = Kind.ffn_dim,
            .intermediate_keys = {"encoder_ffn_dim"},
            .num_hidden_layers = Kind.encoder_layers,
            .num_attention_heads = Kind.num_heads,
            .has_kv_heads = false,
            .has_head_dim = false,
            .heads_divide_hidden = true,
            .positions = Kind.positions,
            .position_offset = Kind.position_offset,
            .embedding_norm = {"", Kind.embedding_norm},
            .tie_word_embeddings = true,
            .qkv_bias = always,
            .output_bias = always,
            .mlp_bias = always,
            .mlp = mlp_kind::plain,
            .norm = norm_kind::layer,
            .final_norm = Kind.final_norm};
}

template <const bart_kind& Kind>
inline constexpr hf_family bart_encoder = [] {
    hf_family row = bart_stack<Kind>();
    row.attention = encoder_part;
    return row;
}();

inline constexpr std::array lone_decoder_heads{decoder_heads[0]};

/// The decoder alone.
template <const bart_kind& Kind>
inline constexpr hf_family bart_decoder = [] {
    hf_family row = bart_stack<Kind>();
    row.heads = lone_decoder_heads;
    row.norms_per_layer = 3;
    row.cross = idle_cross_part;
    row.resolve = take_bart_decoder<Kind>;
    return row;
}();

template <const bart_kind& Kind>
inline constexpr std::array bart_heads{
    head{Kind.generator, {{vocabulary_width}}},
    head{"Model", {}},
    head{"ForCausalLM", {{vocabulary_width}}, &bart_decoder<Kind>},
    head{"ForSequenceClassification", {{hidden_width, per_sequence, true}, {bart_labels<Kind>, per_sequence, true}}},
    head{"ForQuestionAnswering", {{fixed_width<2>, per_token, true}}},
};

template <const bart_kind& Kind>
[[nodiscard]] constexpr hf_family bart_family() {
    hf_family row = bart_decoder<Kind>;
    row.heads = std::span<const head>(bart_heads<Kind>).first(Kind.classes);
    row.cross = cross_part;
    row.once = Kind.tables;
    row.encoder_side = &bart_encoder<Kind>;
    return row;
}

// ---- Marian ----

[[nodiscard]] inline bool marian_shares(const hf_model& model) {
    return model.config.flag("share_encoder_decoder_embeddings", true);
}
/// Null and 0 stand for `vocab_size`.
[[nodiscard]] inline std::uint64_t marian_decoder_vocabulary(const hf_model& model) {
    constexpr std::string_view key = "decoder_vocab_size";
    const std::uint64_t given =
        model.config.has_value(key) ? model.config.integer({key}, 0, 0, max_vocabulary) : std::uint64_t{0};
    return given == 0 ? model.sizes.vocab_size : given;
}

inline void take_marian_vocabulary(hf_model& model) {
    const bool lone = model.family.encoder_side == nullptr;
    const std::uint64_t size = marian_decoder_vocabulary(model);
    if (lone && size != model.sizes.vocab_size) {
        throw error(model.config.field("decoder_vocab_size"),
                    "must be vocab_size (" + std::to_string(model.sizes.vocab_size) +
                        ") in a decoder on its own, got " + std::to_string(size));
    }
    if (!marian_shares(model)) {
        model.sizes.vocab_size = size;
    }
}

/// Shared and not tied: as in the others. Not shared: the encoder's table, besides the decoder's.
[[nodiscard]] inline cost marian_tables(const hf_model& model) {
    const config_fields& config = model.config;
    const std::uint64_t encoder = config.integer({"vocab_size"}, model.family.vocab_size, 1, max_vocabulary);
    const bool shares = marian_shares(model);
    std::uint64_t rows = 0;
    if (!shares || !config.flag("tie_word_embeddings", true)) {
        rows = encoder + (shares ? marian_decoder_vocabulary(model) : 0);
    }
    cost sum;
    sum.add_parameters("embedding", term::embedding, rows * model.sizes.hidden_size);
    return sum;
}

// ---- the types ----

inline constexpr bart_kind bart{
    .model_type = "bart", .class_prefix = "Bart", .position_offset = 2, .classes = 5, .labels = 3};
inline constexpr bart_kind mbart{
    .model_type = "mbart", .class_prefix = "MBart", .position_offset = 2, .final_norm = true, .classes = 5};
inline constexpr bart_kind plbart{.model_type = "plbart",
                                  .class_prefix = "PLBart",
                                  .vocab_size = 50005,
                                  .hidden_size = 768,
                                  .ffn_dim = 3072,
                                  .num_heads = 12,
                                  .encoder_layers = 6,
                                  .decoder_layers = 6,
                                  .position_offset = 2,
                                  .classes = 4};
/// Its prompts would be keys and values without tokens.
inline constexpr bart_kind mvp{.model_type = "mvp",
                               .class_prefix = "Mvp",
                               .vocab_size = 50267,
                               .position_offset = 2,
                               .classes = 5,
                               .check = [](hf_model& model) { model.refuse_flag("use_prompt", true); }};
inline constexpr bart_kind marian{.model_type = "marian",
                                  .class_prefix = "Marian",
                                  .vocab_size = 58101,
                                  .embedding_norm = false,
                                  .generator = "MTModel",
                                  .check = take_marian_vocabulary,
                                  .tables = marian_tables};
inline constexpr bart_kind pegasus{
    .model_type = "pegasus", .class_prefix = "Pegasus", .embedding_norm = false, .final_norm = true};
inline constexpr bart_kind m2m_100{.model_type = "m2m_100",
                                   .class_prefix = "M2M100",
                                   .vocab_size = 128112,
                                   .positions = 0,
                                   .embedding_norm = false,
                                   .final_norm = true,
                                   .layerdrop = true,
                                   .classes = 2};
inline constexpr bart_kind blenderbot{.model_type = "blenderbot",
                                      .class_prefix = "Blenderbot",
                                      .vocab_size = 8008,
                                      .hidden_size = 2560,
                                      .ffn_dim = 10240,
                                      .num_heads = 32,
                                      .encoder_layers = 2,
                                      .decoder_layers = 24,
                                      .positions = 128,
                                      .embedding_norm = false,
                                      .final_norm = true};
inline constexpr bart_kind blenderbot_small{.model_type = "blenderbot-small",
                                            .class_prefix = "BlenderbotSmall",
                                            .hidden_size = 512,
                                            .ffn_dim = 2048,
                                            .encoder_layers = 8,
                                            .decoder_layers = 8,
                                            .positions = 512};

inline constexpr std::array bart_kin{
    bart_family<bart>(),    bart_family<mbart>(),      bart_family<plbart>(),
    bart_family<mvp>(),     bart_family<marian>(),     bart_family<pegasus>(),
    bart_family<m2m_100>(), bart_family<blenderbot>(), bart_family<blenderbot_small>(),
};

}  // namespace floptally::detail
