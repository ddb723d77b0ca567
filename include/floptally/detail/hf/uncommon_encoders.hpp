// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/deberta_parts.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/roberta_heads.hpp>
#include <floptally/detail/hf/roberta_kin.hpp>
#include <floptally/detail/hf/roberta_parts.hpp>
#include <floptally/error.hpp>
#include <floptally/model/attention.hpp>

/// @file
/// Encoders of BERT's shape with another attention, or with weights that layers share.

namespace floptally::detail {

// ---- ALBERT ----

/// Each of `num_hidden_layers` runs all `inner_group_num` layers of its group.
inline void unroll_albert(hf_model& model) {
    refuse_decoder(model);
    model.sizes.num_layers = checked_multiply(
        model.sizes.num_layers, model.config.integer({"inner_group_num"}, 1, 1, max_layers), "inner_group_num");
}

/// Layers of a group have the same weights: as many are stored as the groups have, whichever run them.
[[nodiscard]] inline cost albert_layer(const hf_model& model, const hf_layer& at) {
    const std::uint64_t inner = model.config.integer({"inner_group_num"}, 1, 1, max_layers);
    const std::uint64_t groups = model.config.integer({"num_hidden_groups"}, 1, 1, model.sizes.num_layers / inner);
    cost one = gqa_part(model, at) + dense_part(model, at);
    one.add_parameters("norm", term::norm, 4 * at.where.hidden_size);
    return at.where.index < groups * inner ? one : one.with_shared_weights();
}

inline constexpr head_linear albert_decoder{
    .out = vocabulary_width, .bias = true, .second_bias = true, .in = electra_width};
inline constexpr std::array albert_heads{
    head{"ForMaskedLM", {electra_transform, albert_decoder}},
    head{"ForPreTraining", {pooler, sequence_labels, electra_transform, albert_decoder}},
    bert_model,
    bert_sequence_classifier,
    bert_multiple_choice,
    bert_token_classifier,
    bert_question_answering,
};

// ---- RoFormer ----

/// Its sines and cosines are a table that training leaves as it is.
[[nodiscard]] inline cost roformer_tables(const hf_model& model) {
    const std::uint64_t rows = model.config.dimension({"max_position_embeddings"}, 1536);
    cost sum = electra_embedding(model);
    sum.add_parameters("embedding", term::position_embedding,
                       checked_multiply(rows, model.sizes.head_dim, "embedding"));
    return sum;
}

/// A summary of a sequence that is the last token itself unless the config asks for a linear.
[[nodiscard]] inline std::uint64_t optional_summary_width(const hf_model& model) {
    return model.config.flag("summary_use_proj", false) ? electra_summary_width(model) : 0;
}
inline constexpr head summarised_choice{"ForMultipleChoice", {{optional_summary_width, per_sequence, true}, one_score}};

inline constexpr std::array roformer_heads{
    head{"ForMaskedLM", {narrow_transform, narrow_decoder}},
    head{"ForCausalLM", {narrow_transform, narrow_decoder}},
    head{"Model", {}},
    bert_sequence_classifier,
    summarised_choice,
    bert_token_classifier,
    bert_question_answering,
};

// ---- SqueezeBERT, ConvBERT ----

/// A linear in groups: each takes its own part of the channels.
[[nodiscard]] inline linear grouped(const hf_model& model, std::string_view key, std::uint64_t otherwise,
                                    std::uint64_t in, std::uint64_t out, const dealing& dealt) {
    const std::uint64_t groups = model.config.dimension({key}, otherwise);
    if (in % groups != 0 || out % groups != 0) {
        throw error(model.config.field(key), "must divide " + std::to_string(in) + " and " + std::to_string(out) +
                                                 " channels, got " + std::to_string(groups));
    }
    return {.in_features = in / groups, .out_features = out, .dealt = dealt};
}

[[nodiscard]] inline cost squeezebert_attention(const hf_model& model, const hf_layer& at) {
    const std::uint64_t h = at.where.hidden_size;
    const dealing heads = dealing::heads(model.sizes.num_heads);
    cost sum;
    for (const char* key : {"q_groups", "k_groups", "v_groups"}) {
        sum.add("attention.qkv", grouped(model, key, 4, h, h, heads));
    }
    sum.add("attention.core", attention_core{model.sizes.num_heads, model.sizes.head_dim, model.sizes.head_dim},
            at.where.attends);
    sum.add("attention.output", grouped(model, "post_attention_groups", 1, h, h, heads));
    sum.add_parameters("bias", term::bias, 4 * h);
    return sum;
}

[[nodiscard]] inline cost squeezebert_mlp(const hf_model& model, const hf_layer& at) {
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t wide = model.sizes.intermediate_size;
    cost sum;
    sum.add("mlp", grouped(model, "intermediate_groups", 4, h, wide, dealing::even()));
    sum.add("mlp", grouped(model, "output_groups", 4, wide, h, dealing::even()));
    sum.add_parameters("bias", term::bias, wide + h);
    return sum;
}

inline void require_squeezebert(hf_model& model) {
    refuse_decoder(model);
    if (model.config.dimension({"embedding_size"}, 768) != model.sizes.hidden_size) {
        throw error(model.config.field("embedding_size"),
                    "must be hidden_size (" + std::to_string(model.sizes.hidden_size) + "), got " +
                        std::to_string(model.config.dimension({"embedding_size"}, 768)));
    }
}

/// The pooler runs in every class.
inline constexpr std::array squeezebert_heads{
    head{"ForMaskedLM", {detached_pooler, mlm_transform, bert_decoder}},
    bert_model,
    bert_sequence_classifier,
    bert_multiple_choice,
    head{"ForTokenClassification", {detached_pooler, token_labels}},
    head{"ForQuestionAnswering", {detached_pooler, token_labels}},
};

[[nodiscard]] inline std::uint64_t convbert_width(const hf_model& model) {
    return model.config.dimension({"embedding_size"}, 768);
}

/// Half of the heads' channels are attention's, the others a convolution's whose kernel each token makes itself
/// (arXiv:2008.02496).
inline void resolve_convbert(hf_model& model) {
    refuse_decoder(model);
    hf_dimensions& sizes = model.sizes;
    const std::uint64_t ratio = model.config.dimension({"head_ratio"}, 2);
    sizes.num_heads = sizes.num_kv_heads = sizes.num_heads < ratio ? 1 : sizes.num_heads / ratio;
    if (sizes.hidden_size % (2 * sizes.num_heads) != 0) {
        throw error(model.config.field("hidden_size"), "must be a multiple of 2 x num_attention_heads / head_ratio (" +
                                                           std::to_string(2 * sizes.num_heads) + "), got " +
                                                           std::to_string(sizes.hidden_size));
    }
    sizes.head_dim = sizes.hidden_size / sizes.num_heads / 2;
}

[[nodiscard]] inline cost convbert_attention(const hf_model& model, const hf_layer& at) {
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t heads = model.sizes.num_heads;
    const std::uint64_t half = heads * model.sizes.head_dim;
    const std::uint64_t kernel = model.config.dimension({"conv_kernel_size"}, 9);
    if (kernel % 2 == 0) {
        throw error(model.config.field("conv_kernel_size"), "must be odd, got " + std::to_string(kernel));
    }
    cost sum;
    sum.add("attention.qkv",
            linear{.in_features = h, .out_features = half, .applied = 3, .dealt = dealing::heads(heads)});
    sum.add("attention.core", attention_core{heads, model.sizes.head_dim, model.sizes.head_dim}, at.where.attends);
    sum.add("attention.output", linear{.in_features = h, .out_features = h, .dealt = dealing::heads(heads)});
    // A depthwise convolution, then channels mixed; the kernels; what they are applied to.
    sum.add("convolution", linear{.in_features = kernel, .out_features = h});
    sum.add("convolution", linear{.in_features = h, .out_features = half, .applied = 2});
    sum.add("convolution", linear{.in_features = half, .out_features = heads * kernel});
    sum.add_state("convolution", half * kernel);
    sum.add_parameters("bias", term::bias, 5 * half + heads * kernel + h);
    return sum;
}

[[nodiscard]] inline cost convbert_mlp(const hf_model& model, const hf_layer& at) {
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t wide = model.sizes.intermediate_size;
    cost sum;
    sum.add("mlp", grouped(model, "num_groups", 1, h, wide, dealing::even()));
    sum.add("mlp", grouped(model, "num_groups", 1, wide, h, dealing::even()));
    sum.add_parameters("bias", term::bias, wide + h);
    return sum;
}

inline constexpr head_linear convbert_transform{convbert_width, per_token, true, false, 2};
inline constexpr head_linear convbert_decoder{.out = vocabulary_width, .bias = true, .in = convbert_width};
inline constexpr std::array convbert_heads{
    head{"ForMaskedLM", {convbert_transform, convbert_decoder}},
    head{"Model", {}},
    bert_sequence_classifier,
    summarised_choice,
    bert_token_classifier,
    bert_question_answering,
};

/// Their tables of positions are read by the types' own parts.
[[nodiscard]] constexpr hf_family deberta_kin(hf_family row, presence qkv_bias) {
    row = bert_kin(row);
    row.positions = 0;
    row.qkv_bias = qkv_bias;
    row.embedding_width = embedding_or_hidden_width;
    return row;
}
[[nodiscard]] constexpr hf_family roformer_kin(hf_family row) {
    row = narrow_bert_kin(row, true);
    row.positions = 0;
    return row;
}
[[nodiscard]] constexpr hf_family convbert_kin(hf_family row) {
    row = narrow_bert_kin(row, true);
    row.heads_divide_hidden = false;
    return row;
}

inline constexpr std::array uncommon_encoders{
    narrow_bert_kin({.model_type = "albert",
                     .class_prefix = "Albert",
                     .heads = albert_heads,
                     .vocab_size = 30000,
                     .embedding_width = electra_width,
                     .hidden_size = 4096,
                     .intermediate_size = 16384,
                     .num_attention_heads = 64,
                     .segments = 2,
                     .norms_per_layer = 0,
                     .attention = albert_layer,
                     .feeds = no_feeds,
                     .once = widened_embedding,
                     .resolve = unroll_albert},
                    true),
    deberta_kin({.model_type = "deberta-v2",
                 .class_prefix = "DebertaV2",
                 .heads = deberta_v2_heads,
                 .vocab_size = 128100,
                 .hidden_size = 1536,
                 .intermediate_size = 6144,
                 .num_hidden_layers = 24,
                 .num_attention_heads = 24,
                 .attention = deberta_v2_attention,
                 .more = deberta_v2_convolution,
                 .once = deberta_v2_tables,
                 .resolve = require_deberta_v2},
                always),
    deberta_kin({.model_type = "deberta",
                 .class_prefix = "Deberta",
                 .heads = std::span<const head>(deberta_v2_heads).first(5),
                 .vocab_size = 50265,
                 .attention = deberta_attention,
                 .once = deberta_tables<false>,
                 .resolve = require_deberta<false>},
                presence{}),
    roformer_kin({.model_type = "roformer",
                  .class_prefix = "RoFormer",
                  .heads = roformer_heads,
                  .vocab_size = 50000,
                  .embedding_width = embedding_or_hidden_width,
                  .segments = 2,
                  .once = roformer_tables}),
    bert_kin({.model_type = "squeezebert",
              .class_prefix = "SqueezeBert",
              .heads = squeezebert_heads,
              .embedding_width = convbert_width,
              .segments = 2,
              .attention = squeezebert_attention,
              .dense = squeezebert_mlp,
              .resolve = require_squeezebert}),
    convbert_kin({.model_type = "convbert",
                  .class_prefix = "ConvBert",
                  .heads = convbert_heads,
                  .embedding_width = convbert_width,
                  .segments = 2,
                  .attention = convbert_attention,
                  .dense = convbert_mlp,
                  .once = electra_embedding,
                  .resolve = resolve_convbert}),
};

}  // namespace floptally::detail
