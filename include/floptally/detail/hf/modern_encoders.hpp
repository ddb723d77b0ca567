// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/roberta_heads.hpp>
#include <floptally/detail/hf/roberta_parts.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/feed_forward.hpp>

/// @file
/// Encoders with rotary positions, most of them with a gated MLP; ModernBERT's decoder, which shares its layers.

namespace floptally::detail {

// ---- ModernBERT ----

/// Tokens that a layer with a window sees on each side (the decoder: in all, with the token itself).
[[nodiscard]] inline std::int64_t modernbert_window(const hf_model& model) {
    constexpr std::uint64_t most = 0x7FFF'FFFF;
    return static_cast<std::int64_t>(model.config.has_value("sliding_window")
                                         ? model.config.integer({"sliding_window"}, required, 1, most)
                                         : model.config.integer({"local_attention"}, 128, 2, most) / 2);
}

[[nodiscard]] inline cost modernbert_attention(const hf_model& model, const hf_layer& at) {
    hf_layer seen = at;
    if (at.mixer == 'S') {
        const std::int64_t tokens = modernbert_window(model);
        seen.where.attends = model.bidirectional() ? mask::window(tokens, tokens) : mask::sliding_window(tokens);
    }
    return gqa_part(model, seen);
}

[[nodiscard]] inline std::string modernbert_layers(const hf_model& model) {
    const std::uint64_t period = model.config.integer({"global_attn_every_n_layers"}, 3, 1, max_layers);
    return where(model, 'F', 'S', [period](std::uint64_t i) { return i % period == 0; });
}

/// Two norms a layer, but the first has one; one after the embedding and one after the last layer.
[[nodiscard]] inline cost modernbert_norms(const hf_model& model) {
    const std::uint64_t per_norm = (model.config.flag("norm_bias", false) ? 2 : 1) * model.sizes.hidden_size;
    cost sum;
    sum.add_parameters("norm", term::norm, checked_multiply(2 * model.sizes.num_layers + 1, per_norm, "norm"));
    return sum;
}

/// A sparse prediction computes logits of masked tokens only: how many depends on the data.
inline void refuse_sparse_prediction(hf_model& model) {
    refuse_decoder(model);
    model.refuse_flag("sparse_prediction", true);
}

[[nodiscard]] constexpr head_linear modernbert_dense(statistic rows) {
    return {.out = hidden_width,
            .rows = rows,
            .bias = true,
            .norm_after = 1,
            .bias_key = "classifier_bias",
            .bias_otherwise = false,
            .norm_bias_key = "norm_bias"};
}
inline constexpr head_linear modernbert_vocabulary{.out = vocabulary_width, .bias = true, .bias_key = "decoder_bias"};

inline constexpr std::array modernbert_heads{
    head{"ForMaskedLM", {modernbert_dense(per_token), modernbert_vocabulary}},
    head{"Model", {}},
    head{"ForSequenceClassification", {modernbert_dense(per_sequence), sequence_labels}},
    head{"ForMultipleChoice", {modernbert_dense(per_sequence), one_score}},
    head{"ForTokenClassification", {modernbert_dense(per_token), token_labels}},
    head{"ForQuestionAnswering", {modernbert_dense(per_token), token_labels}},
};
inline constexpr std::array modernbert_decoder_heads{
    head{"ForCausalLM", {modernbert_dense(per_token), modernbert_vocabulary}},
    head{"Model", {}},
    head{"ForSequenceClassification",
         {modernbert_dense(per_token),
          {.out = labels_width, .bias = true, .bias_key = "classifier_bias", .bias_otherwise = false}}},
};

[[nodiscard]] constexpr hf_family modernbert_kin(hf_family row) {
    row.vocab_size = 50368;
    row.hidden_size = 768;
    row.intermediate_size = 1152;
    row.num_hidden_layers = 22;
    row.num_attention_heads = 12;
    row.has_kv_heads = row.has_head_dim = row.final_norm = false;
    row.heads_divide_hidden = row.tie_word_embeddings = true;
    row.qkv_bias = row.output_bias = if_attention_bias;
    row.mlp_bias = {"mlp_bias", false};
    row.norms_per_layer = 0;
    row.mixers = modernbert_layers;
    row.layer_types = "FS";
    row.sliding_window = 64;
    row.attention = modernbert_attention;
    row.once = modernbert_norms;
    return row;
}

// ---- EuroBERT ----

/// True: every token passes the classifier, and logits are averaged. False: the sequence is one vector before it.
[[nodiscard]] inline bool pools_late(const hf_model& model) {
    const std::string pooling = model.config.text("classifier_pooling", "late");
    if (pooling != "late" && pooling != "bos" && pooling != "mean") {
        throw error(model.config.field("classifier_pooling"),
                    R"(must be "late", "bos" or "mean", got )" + shown(pooling));
    }
    return pooling == "late";
}
template <bool Late, hf_width Width>
[[nodiscard]] std::uint64_t pooled_width(const hf_model& model) {
    return pools_late(model) == Late ? Width(model) : 0;
}

inline constexpr std::array eurobert_heads{
    head{"ForMaskedLM", {{.out = vocabulary_width, .bias = true, .bias_key = "mlp_bias", .bias_otherwise = false}}},
    head{"Model", {}},
    head{"ForSequenceClassification",
         {{pooled_width<true, hidden_width>, per_token, true},
          {pooled_width<true, labels_width>, per_token, true},
          {pooled_width<false, hidden_width>, per_sequence, true},
          {pooled_width<false, labels_width>, per_sequence, true}}},
    bert_token_classifier,
};

// ---- ESM-C ----

inline void require_esmc(hf_model& model) {
    refuse_decoder(model);
    refuse_tied(model);
    require_heads_fill_hidden(model);
    if (model.sizes.num_kv_heads != model.sizes.num_heads) {
        throw error(model.config.field("num_key_value_heads"), "must be num_attention_heads (" +
                                                                   std::to_string(model.sizes.num_heads) + "), got " +
                                                                   std::to_string(model.sizes.num_kv_heads));
    }
}

/// After the last layer, without the bias that the others have.
[[nodiscard]] inline cost esmc_final_norm(const hf_model& model) {
    cost sum;
    sum.add_parameters("norm", term::norm, model.sizes.hidden_size);
    return sum;
}

inline constexpr std::array esmc_heads{
    head{"ForMaskedLM", {mlm_transform, mlm_decoder}},
    head{"Model", {}},
    bert_sequence_classifier,
    decoder_heads[3],
};

// ---- GTE, Nomic, Jina ----

[[nodiscard]] inline cost gte_mlp(const hf_model& model, const hf_layer& at) {
    return gated_mlp{model.sizes.intermediate_size, {.bias = at.where.hidden_size}}.cost(at.where);
}
[[nodiscard]] inline cost gte_segments(const hf_model& model) {
    const std::uint64_t rows = model.config.integer({"type_vocab_size"}, 1, 0, max_dimension);
    cost sum;
    sum.add_parameters("embedding", term::position_embedding,
                       checked_multiply(rows, model.sizes.hidden_size, "embedding"));
    return sum;
}

inline constexpr std::array gte_heads{
    head{"ForMaskedLM", {mlm_transform, mlm_decoder}},
    head{"Model", {}},
    bert_sequence_classifier,
    bert_token_classifier,
};
inline constexpr std::array nomic_bert_heads{bert_masked_lm, gte_heads[1], gte_heads[2], gte_heads[3]};
inline constexpr std::array jina_heads{
    bert_masked_lm, bert_model, bert_sequence_classifier, bert_token_classifier, bert_question_answering,
};

/// Norms after each part and after the embedding.
[[nodiscard]] constexpr hf_family rotary_post_norm(hf_family row) {
    row.encoder = row.tie_word_embeddings = true;
    row.has_kv_heads = row.final_norm = false;
    row.embedding_norm = always;
    row.norm = norm_kind::layer;
    row.resolve = refuse_decoder;
    return row;
}

inline constexpr std::array modern_encoders{
    modernbert_kin({.model_type = "modernbert",
                    .class_prefix = "ModernBert",
                    .heads = modernbert_heads,
                    .encoder = true,
                    .resolve = refuse_sparse_prediction}),
    modernbert_kin(
        {.model_type = "modernbert-decoder", .class_prefix = "ModernBertDecoder", .heads = modernbert_decoder_heads}),
    hf_family{.model_type = "eurobert",
              .class_prefix = "EuroBert",
              .heads = eurobert_heads,
              .encoder = true,
              .vocab_size = 128256,
              .hidden_size = 768,
              .intermediate_size = 3072,
              .num_hidden_layers = 12,
              .num_attention_heads = 12,
              .kv_heads_may_be_null = true,
              .head_dim_may_be_null = true,
              .heads_divide_hidden = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .mlp_bias = {"mlp_bias", false},
              .resolve = refuse_decoder},
    hf_family{.model_type = "esmc",
              .class_prefix = "Esmc",
              .heads = esmc_heads,
              .encoder = true,
              .vocab_size = 64,
              .hidden_size = 2560,
              .intermediate_size = 6912,
              .num_hidden_layers = 80,
              .num_attention_heads = 40,
              .kv_heads_may_be_null = true,
              .head_dim_may_be_null = true,
              .heads_divide_hidden = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .mlp_bias = {"mlp_bias", false},
              .norm = norm_kind::layer,
              .query_key_norm = qk_norm::full_width,
              .final_norm = false,
              .once = esmc_final_norm,
              .resolve = require_esmc},
    rotary_post_norm({.model_type = "nomic_bert",
                      .class_prefix = "NomicBert",
                      .heads = nomic_bert_heads,
                      .vocab_size = 30528,
                      .hidden_size = 768,
                      .intermediate_size = 3072,
                      .num_hidden_layers = 12,
                      .num_attention_heads = 12,
                      .head_dim_may_be_null = true,
                      .segments = 2}),
    rotary_post_norm({.model_type = "gte",
                      .class_prefix = "Gte",
                      .heads = gte_heads,
                      .vocab_size = 250048,
                      .hidden_size = 768,
                      .intermediate_size = 3072,
                      .num_hidden_layers = 12,
                      .num_attention_heads = 12,
                      .qkv_bias = always,
                      .output_bias = always,
                      .dense = gte_mlp,
                      .once = gte_segments}),
    rotary_post_norm({.model_type = "jina_embeddings_v3",
                      .class_prefix = "JinaEmbeddingsV3",
                      .heads = jina_heads,
                      .vocab_size = 250002,
                      .hidden_size = 1024,
                      .intermediate_size = 4096,
                      .num_hidden_layers = 24,
                      .num_attention_heads = 16,
                      .segments = 1,
                      .qkv_bias = always,
                      .output_bias = always,
                      .mlp_bias = always,
                      .mlp = mlp_kind::plain}),
};

}  // namespace floptally::detail
