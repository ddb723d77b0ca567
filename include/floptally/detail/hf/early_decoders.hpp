// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/parts.hpp>

/// @file
/// Decoders from before LLaMA that are no kin of GPT-2's code.

namespace floptally::detail {

inline void resolve_bloom(hf_model& model) { model.require_same("n_embed", "hidden_size", model.sizes.hidden_size); }

/// `num_kv_heads` counts in the new architecture only. In the old one there is one head with `multi_query`; without it
/// every head has its own, and the class runs with no other number.
inline void resolve_falcon(hf_model& model) {
    model.require_same("n_embed", "hidden_size", model.sizes.hidden_size);
    const std::uint64_t heads = model.sizes.num_heads;
    const std::uint64_t given = model.read_or_null({{"num_kv_heads"}, heads});
    const bool newer = model.config.is_on("new_decoder_architecture");
    if (!newer && model.config.flag("multi_query", true)) {
        model.sizes.num_kv_heads = 1;
        return;
    }
    if (newer ? heads % given != 0 : given != heads) {
        throw error(model.config.field("num_kv_heads"), std::string(newer ? "must divide" : "must be")
                                                            .append(" num_attention_heads (")
                                                            .append(std::to_string(heads))
                                                            .append(newer ? "), got " : ") without multi_query, got ")
                                                            .append(std::to_string(given)));
    }
    model.sizes.num_kv_heads = given;
}

/// Attention and MLP side by side share one norm, except where the new architecture has one for each.
[[nodiscard]] inline cost falcon_norms(const hf_model& model, const hf_layer& at) {
    const std::uint64_t in_parallel =
        model.read_or_null({{"num_ln_in_parallel_attn"}, model.config.is_on("new_decoder_architecture") ? 2U : 1U});
    const bool two = !model.config.flag("parallel_attn", true) || in_parallel == 2;
    cost sum;
    sum.add_parameters("norm", term::norm, (two ? 4 : 2) * at.where.hidden_size);
    return sum;
}

/// Two rows of the table of positions are never used: positions start at 2.
[[nodiscard]] inline cost two_spare_positions(const hf_model& model) {
    cost sum;
    sum.add_parameters("embedding", term::position_embedding, 2 * model.sizes.hidden_size);
    return sum;
}

/// Width of the embedding and of what the heads see.
[[nodiscard]] inline std::uint64_t opt_embedding_width(const hf_model& model) {
    return model.read_or_null({{"word_embed_proj_dim"}, model.sizes.hidden_size});
}

/// Projections from and to a narrower embedding, norms, and positions, which have the layers' width.
[[nodiscard]] inline cost opt_once(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t embedding = opt_embedding_width(model);
    cost sum = two_spare_positions(model);
    sum.add_parameters("embedding", term::position_embedding, model.read({{"max_position_embeddings"}, 2048}) * h);
    if (embedding != h) {
        sum.add("embedding.projection",
                linear{.in_features = embedding, .out_features = h, .applied = 2, .dealt = dealing::replicated()});
    }
    if (model.config.flag("layer_norm_elementwise_affine", true)) {
        const bool final_norm =
            model.config.flag("do_layer_norm_before", true) && !model.config.flag("_remove_final_layer_norm", false);
        sum.add_parameters("norm", term::norm, (2 * model.sizes.num_layers + (final_norm ? 1 : 0)) * 2 * h);
    }
    return sum;
}

inline constexpr std::array opt_heads{
    head{"ForCausalLM", {{.out = vocabulary_width, .in = opt_embedding_width}}},
    head{"Model", {}},
    head{"ForSequenceClassification", {{.out = labels_width, .in = opt_embedding_width}}},
    head{"ForQuestionAnswering", {{.out = fixed_width<2>, .bias = true, .in = opt_embedding_width}}},
};

/// The class has as many key and value heads as queries, whatever this says, and takes these two names only.
inline void refuse_mpt_attention(hf_model& model) {
    if (!model.config.has_value("attn_config")) {
        return;
    }
    const config_fields attention(*model.config.find("attn_config"), model.config.field("attn_config"));
    const std::string type = attention.text("attn_type", "multihead_attention");
    if (type != "multihead_attention" && type != "multiquery_attention") {
        throw error(attention.field("attn_type"),
                    model.refusal(R"("multihead_attention", "multiquery_attention")", *attention.find("attn_type")));
    }
}

inline constexpr std::array early_decoders{
    hf_family{.model_type = "bloom",
              .class_prefix = "Bloom",
              .heads = gpt_neox_heads,
              .also = {.hidden_size = "n_embed", .num_hidden_layers = "n_layer", .num_attention_heads = "n_head"},
              .vocab_size = 250880,
              .hidden_size = 64,
              .intermediate_keys = {},
              .num_hidden_layers = 2,
              .num_attention_heads = 8,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .embedding_norm = always,
              .tie_word_embeddings = true,
              .qkv_bias = always,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .resolve = resolve_bloom},
    hf_family{.model_type = "falcon",
              .class_prefix = "Falcon",
              .heads = gpt_neox_heads,
              .also = {.hidden_size = "n_embed"},
              .vocab_size = 65024,
              .hidden_size = 4544,
              .intermediate_keys = {"ffn_hidden_size"},
              .num_hidden_layers = 32,
              .num_attention_heads = 71,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .tie_word_embeddings = true,
              .qkv_bias = {"bias", false},
              .output_bias = {"bias", false},
              .mlp_bias = {"bias", false},
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .norms_per_layer = 0,
              .more = falcon_norms,
              .resolve = resolve_falcon},
    hf_family{.model_type = "opt",
              .class_prefix = "OPT",
              .heads = opt_heads,
              .vocab_size = 50272,
              .embedding_width = opt_embedding_width,
              .hidden_size = 768,
              .intermediate_size = 3072,
              .intermediate_keys = {"ffn_dim"},
              .num_hidden_layers = 12,
              .num_attention_heads = 12,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .tie_word_embeddings = true,
              .qkv_bias = {"enable_bias", true},
              .output_bias = {"enable_bias", true},
              .mlp_bias = {"enable_bias", true},
              .mlp = mlp_kind::plain,
              .norms_per_layer = 0,
              .final_norm = false,
              .once = opt_once},
    // Its layer norms have no bias, so they are as wide as RMS norms. `expansion_ratio` is not read.
    hf_family{.model_type = "mpt",
              .class_prefix = "Mpt",
              .heads = gpt_neox_heads,
              .also = {.hidden_size = "d_model", .num_hidden_layers = "n_layers", .num_attention_heads = "n_heads"},
              .vocab_size = 50368,
              .hidden_size = 2048,
              .intermediate_keys = {},
              .num_hidden_layers = 24,
              .num_attention_heads = 16,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .tie_word_embeddings = true,
              .mlp = mlp_kind::plain,
              .resolve = refuse_mpt_attention},
    hf_family{.model_type = "biogpt",
              .class_prefix = "BioGpt",
              .heads = all_gpt_neox_heads.first(4),
              .vocab_size = 42384,
              .hidden_size = 1024,
              .intermediate_size = 4096,
              .num_hidden_layers = 24,
              .num_attention_heads = 16,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .positions = 1024,
              .tie_word_embeddings = true,
              .qkv_bias = always,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .once = two_spare_positions},
    hf_family{
        .model_type = "xglm",
        .class_prefix = "XGLM",
        .heads = all_decoder_heads.first(2),
        .also = {.hidden_size = "d_model", .num_hidden_layers = "num_layers", .num_attention_heads = "attention_heads"},
        .vocab_size = 256008,
        .hidden_size = 1024,
        .intermediate_size = 4096,
        .intermediate_keys = {"ffn_dim"},
        .num_hidden_layers = 24,
        .num_attention_heads = 16,
        .has_kv_heads = false,
        .has_head_dim = false,
        .heads_divide_hidden = true,
        .tie_word_embeddings = true,
        .qkv_bias = always,
        .output_bias = always,
        .mlp_bias = always,
        .mlp = mlp_kind::plain,
        .norm = norm_kind::layer},
};

}  // namespace floptally::detail
