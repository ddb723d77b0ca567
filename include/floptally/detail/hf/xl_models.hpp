// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>

/// @file
/// XLM, FlauBERT and XLNet: language models that see both sides, or the past only where the config says so.

namespace floptally::detail {

[[nodiscard]] inline cost both_sides_attention(const hf_model& model, const hf_layer& at) {
    hf_layer seen = at;
    seen.where.attends = at.mixer == 'B' ? mask::bidirectional() : mask::causal();
    return gqa_part(model, seen);
}

[[nodiscard]] inline std::string causal_or_both_sides(const hf_model& model) {
    return every_layer(model, model.config.flag("causal", false) ? 'F' : 'B');
}

inline void resolve_xlm(hf_model& model) {
    model.require_same("n_words", "vocab_size", model.sizes.vocab_size);
    model.refuse_flag("asm", true);  // an adaptive softmax in place of the vocabulary
    model.refuse_flag("is_encoder", false);
}

[[nodiscard]] inline cost language_embedding(const hf_model& model) {
    cost sum;
    const std::uint64_t languages = model.read({{"n_langs"}, 1});
    if (languages > 1 && model.config.flag("use_lang_emb", true)) {
        sum.add_parameters("embedding", term::position_embedding,
                           checked_multiply(languages, model.sizes.hidden_size, "embedding"));
    }
    return sum;
}

inline constexpr head_linear xlm_summary{labels_summary_width, per_sequence, true};

inline constexpr std::array xlm_heads{
    head{"WithLMHeadModel", {{vocabulary_width, per_token, true}}},
    head{"Model", {}},
    head{"ForSequenceClassification", {xlm_summary}},
    head{"ForTokenClassification", {{labels_width, per_token, true}}},
    head{"ForQuestionAnsweringSimple", {{labels_width, per_token, true}}},
    head{"ForMultipleChoice",
         {xlm_summary, {.out = fixed_width<1>, .rows = per_sequence, .bias = true, .in = labels_width}}},
};

/// XLNet adds to QKᵀ a product with projected relative positions, of which a sequence has twice as many as tokens
/// (arXiv:1906.08237). Segments, where the input has them, would add a third; no config says so.
[[nodiscard]] inline cost xlnet_attention(const hf_model& model, const hf_layer& at) {
    const hf_dimensions& sizes = model.sizes;
    const std::uint64_t width = sizes.num_heads * sizes.head_dim;
    cost sum;
    sum.add("attention.qkv", linear{.in_features = sizes.hidden_size,
                                    .out_features = width,
                                    .applied = 3,
                                    .dealt = dealing::heads(sizes.num_heads)});
    sum.add("attention.positions",
            linear{.in_features = sizes.hidden_size, .out_features = width, .applied = 2, .stored = 1});
    sum.add("attention.core", attention_core{sizes.num_heads, 2 * sizes.head_dim, sizes.head_dim},
            mask::bidirectional());
    sum.add(
        "attention.output",
        linear{.in_features = width, .out_features = at.where.hidden_size, .dealt = dealing::heads(sizes.num_heads)});
    sum.add_parameters("bias", term::bias, 5 * width);  // of the three products, and two segments
    return sum;
}

inline void resolve_xlnet(hf_model& model) {
    model.require_same("n_token", "vocab_size", model.sizes.vocab_size);
    model.require_same("d_head", "d_model / n_head", model.sizes.head_dim);
    if (model.config.text("attn_type", "bi") != "bi") {
        throw error(model.config.field("attn_type"), model.refusal("\"bi\"", *model.config.find("attn_type")));
    }
}

/// What stands for a token to predict.
[[nodiscard]] inline cost xlnet_mask_embedding(const hf_model& model) {
    cost sum;
    sum.add_parameters("embedding", term::position_embedding, model.sizes.hidden_size);
    return sum;
}

[[nodiscard]] inline std::uint64_t xlnet_summary_width(const hf_model& model) {
    return model.config.flag("summary_use_proj", true) ? model.sizes.hidden_size : 0;
}
inline constexpr head_linear xlnet_summary{xlnet_summary_width, per_sequence, true};

inline constexpr std::array xlnet_heads{
    head{"LMHeadModel", {{vocabulary_width, per_token, true}}},
    head{"Model", {}},
    head{"ForSequenceClassification", {xlnet_summary, {labels_width, per_sequence, true}}},
    head{"ForTokenClassification", {{labels_width, per_token, true}}},
    head{"ForQuestionAnsweringSimple", {{labels_width, per_token, true}}},
    head{"ForMultipleChoice", {xlnet_summary, {fixed_width<1>, per_sequence, true}}},
};

inline constexpr hf_family xlm_family{
    .model_type = "xlm",
    .class_prefix = "XLM",
    .heads = xlm_heads,
    .also = {.hidden_size = "emb_dim",
             .num_hidden_layers = "n_layers",
             .num_attention_heads = "n_heads",
             .vocab_size = "n_words"},
    .vocab_size = 30145,
    .hidden_size = 2048,
    .intermediate_keys = {},
    .num_hidden_layers = 12,
    .num_attention_heads = 16,
    .has_kv_heads = false,
    .has_head_dim = false,
    .heads_divide_hidden = true,
    .positions = 512,
    .embedding_norm = always,
    .tie_word_embeddings = true,
    .qkv_bias = always,
    .output_bias = always,
    .mlp_bias = always,
    .mlp = mlp_kind::plain,
    .norm = norm_kind::layer,
    .final_norm = false,
    .mixers = causal_or_both_sides,
    .attention = both_sides_attention,
    .once = language_embedding,
    .resolve = resolve_xlm,
};

[[nodiscard]] constexpr hf_family flaubert_family() {
    hf_family family = xlm_family;
    family.model_type = "flaubert";
    family.class_prefix = "Flaubert";
    return family;
}

inline constexpr std::array xl_models{
    xlm_family,
    flaubert_family(),
    hf_family{.model_type = "xlnet",
              .class_prefix = "XLNet",
              .heads = xlnet_heads,
              .also = {.hidden_size = "d_model",
                       .num_hidden_layers = "n_layer",
                       .num_attention_heads = "n_head",
                       .vocab_size = "n_token"},
              .vocab_size = 32000,
              .hidden_size = 1024,
              .intermediate_size = 4096,
              .intermediate_keys = {"d_inner"},
              .num_hidden_layers = 24,
              .num_attention_heads = 16,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .tie_word_embeddings = true,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .final_norm = false,
              .attention = xlnet_attention,
              .once = xlnet_mask_embedding,
              .resolve = resolve_xlnet},
};

}  // namespace floptally::detail
