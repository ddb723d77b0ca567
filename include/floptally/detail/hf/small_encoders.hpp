// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/roberta_heads.hpp>
#include <floptally/detail/hf/roberta_kin.hpp>
#include <floptally/detail/hf/roberta_parts.hpp>
#include <floptally/error.hpp>
#include <floptally/model/attention.hpp>

/// @file
/// MobileBERT, whose layers are narrower inside than between, and FNet, which mixes tokens without attention.

namespace floptally::detail {

// ---- MobileBERT ----

/// How a layer narrows: `width` inside it, and what its queries, keys and values are made of.
struct bottleneck {
    bool used = true;
    bool attention = false;    ///< queries, keys and values are all of the narrowed input
    bool shared_query = true;  ///< queries and keys are of a second narrowed input
    std::uint64_t width = 0;
};

[[nodiscard]] inline bottleneck read_bottleneck(const hf_model& model) {
    const config_fields& config = model.config;
    const bool used = config.flag("use_bottleneck", true);
    return {.used = used,
            .attention = config.flag("use_bottleneck_attention", false),
            .shared_query = config.flag("key_query_shared_bottleneck", true),
            .width = used ? config.dimension({"intra_bottleneck_size"}, 128) : model.sizes.hidden_size};
}

inline void require_mobilebert(hf_model& model) {
    refuse_decoder(model);
    hf_dimensions& sizes = model.sizes;
    const bottleneck narrow = read_bottleneck(model);
    if (narrow.width % sizes.num_heads != 0) {
        throw error(model.config.field("num_attention_heads"), "must divide the width inside a layer (" +
                                                                   std::to_string(narrow.width) + "), got " +
                                                                   std::to_string(sizes.num_heads));
    }
    if (narrow.used && !narrow.attention && !narrow.shared_query && narrow.width != sizes.hidden_size) {
        throw error(model.config.field("key_query_shared_bottleneck"),
                    "must be true where intra_bottleneck_size is not hidden_size: queries would be as wide as the "
                    "layers, got false");
    }
    if (electra_width(model) > sizes.hidden_size) {
        throw error(model.config.field("embedding_size"), "must be at most hidden_size (" +
                                                              std::to_string(sizes.hidden_size) + "), got " +
                                                              std::to_string(electra_width(model)));
    }
    model.require_same("true_hidden_size", "the width inside a layer", narrow.width);
    sizes.head_dim = narrow.width / sizes.num_heads;
}

/// A linear with its bias, and the norm that follows.
inline void add_normed(cost& sum, const component_name& component, std::uint64_t in, std::uint64_t out,
                       std::uint64_t applied = 1, const dealing& dealt = {}) {
    sum.add(component, linear{.in_features = in, .out_features = out, .applied = applied, .stored = 1, .dealt = dealt});
    sum.add_parameters("bias", term::bias, out);
    sum.add_parameters("norm", term::norm, 2 * out);
}

[[nodiscard]] inline cost mobilebert_attention(const hf_model& model, const hf_layer& at) {
    const bottleneck narrow = read_bottleneck(model);
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t width = narrow.width;
    const dealing heads = dealing::heads(model.sizes.num_heads);
    cost sum;
    if (narrow.used) {
        add_normed(sum, "bottleneck", h, width);
        if (narrow.shared_query) {
            add_normed(sum, "bottleneck", h, width, narrow.attention ? 0 : 1);
        }
    }
    sum.add("attention.qkv", linear{.in_features = width, .out_features = width, .applied = 2, .dealt = heads});
    sum.add("attention.qkv",
            linear{.in_features = narrow.attention ? width : h, .out_features = width, .dealt = heads});
    sum.add_parameters("bias", term::bias, 3 * width);
    sum.add("attention.core", attention_core{model.sizes.num_heads, model.sizes.head_dim, model.sizes.head_dim},
            at.where.attends);
    add_normed(sum, "attention.output", width, width, 1, heads);
    return sum;
}

[[nodiscard]] inline cost mobilebert_mlps(const hf_model& model, const hf_layer& at) {
    const bottleneck narrow = read_bottleneck(model);
    const std::uint64_t wide = model.sizes.intermediate_size;
    const std::uint64_t mlps = model.config.integer({"num_feedforward_networks"}, 4, 1, max_layers);
    cost one;
    one.add("mlp", linear{.in_features = narrow.width, .out_features = wide, .dealt = dealing::even()});
    one.add_parameters("bias", term::bias, wide);
    add_normed(one, "mlp", wide, narrow.width, 1, dealing::even());
    cost sum = mlps * one;
    if (narrow.used) {
        add_normed(sum, "bottleneck", narrow.width, at.where.hidden_size);
    }
    return sum;
}

/// A token's embedding stands beside those of its neighbours before it is widened.
[[nodiscard]] inline cost mobilebert_embedding(const hf_model& model) {
    const config_fields& config = model.config;
    const std::uint64_t h = model.sizes.hidden_size;
    const bool trigrams = config.flag("trigram_input", true);
    const std::uint64_t width = electra_width(model);
    const std::uint64_t rows =
        config.dimension({"max_position_embeddings"}, 512) + config.dimension({"type_vocab_size"}, 2);
    cost sum;
    add_normed(sum, "embedding.projection", (trigrams ? 3 : 1) * width, h, trigrams || width != h ? 1 : 0,
               dealing::replicated());
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(rows, h, "embedding"));
    return sum;
}

[[nodiscard]] inline std::uint64_t mobilebert_pooler_width(const hf_model& model) {
    return model.config.flag("classifier_activation", true) ? model.sizes.hidden_size : 0;
}
inline constexpr head_linear mobilebert_pooler{mobilebert_pooler_width, per_sequence, true};
inline constexpr head_linear next_sentence{fixed_width<2>, per_sequence, true};

/// The vocabulary's matrix is as wide as the layers: the embedding's columns and others besides.
inline constexpr std::array mobilebert_heads{
    bert_masked_lm,
    head{"ForPreTraining", {mobilebert_pooler, next_sentence, mlm_transform, bert_decoder}},
    head{"Model", {{mobilebert_pooler_width, per_sequence, true, true}}},
    head{"ForNextSentencePrediction", {mobilebert_pooler, next_sentence}},
    head{"ForSequenceClassification", {mobilebert_pooler, sequence_labels}},
    head{"ForMultipleChoice", {mobilebert_pooler, one_score}},
    bert_token_classifier,
    bert_question_answering,
};

[[nodiscard]] constexpr hf_family mobilebert_kin(hf_family row) {
    row = narrow_bert_kin(row, true);
    row.heads_divide_hidden = false;
    row.positions = 0;
    row.norms_per_layer = 0;
    return row;
}

// ---- FNet ----

[[nodiscard]] inline std::string no_mixers(const hf_model& model) { return every_layer(model, '-'); }

[[nodiscard]] inline cost fnet_projection(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    cost sum;
    sum.add("embedding.projection", linear{.in_features = h, .out_features = h, .dealt = dealing::replicated()});
    sum.add_parameters("bias", term::bias, h);
    return sum;
}

/// With matrices in place of fast transforms its products would be others.
inline void require_fast_fourier(hf_model& model) {
    refuse_decoder(model);
    model.refuse_flag("use_tpu_fourier_optimizations", true);
    model.notes.emplace_back("Fourier transforms mix the tokens: no products of matrices, not counted");
}

/// The pooler runs also where no head looks at it.
inline constexpr std::array fnet_heads{
    head{"ForMaskedLM", {detached_pooler, mlm_transform, bert_decoder}},
    bert_model,
    bert_sequence_classifier,
    bert_multiple_choice,
    head{"ForTokenClassification", {detached_pooler, token_labels}},
    head{"ForQuestionAnswering", {detached_pooler, token_labels}},
    bert_pre_training,
    bert_next_sentence,
};

[[nodiscard]] constexpr hf_family fnet_kin(hf_family row) {
    row = bert_kin(row);
    row.num_attention_heads = 1;  // it has none
    row.heads_divide_hidden = false;
    return row;
}

inline constexpr std::array small_encoders{
    fnet_kin({.model_type = "fnet",
              .class_prefix = "FNet",
              .heads = fnet_heads,
              .vocab_size = 32000,
              .segments = 4,
              .mixers = no_mixers,
              .once = fnet_projection,
              .resolve = require_fast_fourier}),
    mobilebert_kin({.model_type = "mobilebert",
                    .class_prefix = "MobileBert",
                    .heads = mobilebert_heads,
                    .embedding_width = electra_width,
                    .hidden_size = 512,
                    .intermediate_size = 512,
                    .num_hidden_layers = 24,
                    .num_attention_heads = 4,
                    .attention = mobilebert_attention,
                    .dense = mobilebert_mlps,
                    .once = mobilebert_embedding,
                    .resolve = require_mobilebert}),
};

}  // namespace floptally::detail
