// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/feed_forward.hpp>

/// @file
/// Decoders with experts whose configs or layers follow rules of their own.

namespace floptally::detail {

// ---- Llama 4 ----

/// Chunks in the layers with rotary embeddings: a flag per layer in `no_rope_layers` (1: with), else all but every
/// `no_rope_layer_interval`-th layer.
[[nodiscard]] inline std::string llama4_mixers(const hf_model& model) {
    const config_fields& config = model.config;
    const json* rope = config.array("no_rope_layers");
    if (rope == nullptr || rope->empty()) {
        const std::uint64_t interval = config.integer({"no_rope_layer_interval"}, 4, 1, max_layers);
        return where(model, 'C', 'F', [interval](std::uint64_t i) { return (i + 1) % interval != 0; });
    }
    const std::string key = config.field("no_rope_layers");
    if (rope->size() != model.sizes.num_layers) {
        throw error(key, "must have an entry for each of the " + std::to_string(model.sizes.num_layers) +
                             " layers, got " + std::to_string(rope->size()));
    }
    std::string letters;
    for (const json& flag : *rope) {
        letters += config_fields::as_integer(flag, indexed(key, letters.size()), 0, 1) == 1 ? 'C' : 'F';
    }
    return letters;
}

[[nodiscard]] inline std::string llama4_feeds(const hf_model& model) {
    if (model.config.array("moe_layers") != nullptr) {
        return marked(model, all_dense(model), "moe_layers", 'e');
    }
    const std::uint64_t step = model.config.integer({"interleave_moe_layer_step"}, 1, 1, max_layers);
    return where(model, 'e', 'd', [step](std::uint64_t i) { return (i + 1) % step == 0; });
}

[[nodiscard]] inline cost llama4_dense(const hf_model& model, const hf_layer& at) {
    return dense_of(model, at, model.config.dimension({"intermediate_size_mlp"}, 16384));
}

// ---- Cohere 2 MoE ----

/// Windows in all but every `sliding_window_pattern`-th layer, counted from the first layer with experts; the dense
/// ones before it have a pattern of their own.
[[nodiscard]] inline std::string cohere2_moe_mixers(const hf_model& model) {
    const std::uint64_t dense = model.read_or_none(model.family.experts.first_dense);
    const auto pattern = [&](const char* key, std::uint64_t otherwise) {
        return model.config.integer({key}, otherwise, 1, max_layers);
    };
    const std::uint64_t before = pattern("prefix_dense_sliding_window_pattern", 1);
    const std::uint64_t after = pattern("sliding_window_pattern", 4);
    return where(model, 'S', 'F',
                 [=](std::uint64_t i) { return i < dense ? (i + 1) % before != 0 : (i - dense + 1) % after != 0; });
}

[[nodiscard]] inline std::string cohere2_moe_feeds(const hf_model& model) {
    return by_mlp_layer_types(model, dense_first_feeds);
}

[[nodiscard]] inline cost cohere2_moe_dense(const hf_model& model, const hf_layer& at) {
    return dense_of(model, at, model.read_or_null({{"prefix_dense_intermediate_size"}, model.sizes.intermediate_size}));
}

// ---- DBRX ----

/// One of the objects inside the config; empty where it is absent or null.
[[nodiscard]] inline config_fields fields_inside(const hf_model& model, const char* key) {
    static const json empty = json::object();
    return {model.config.has_value(key) ? *model.config.find(key) : empty, model.config.field(key)};
}

inline void resolve_dbrx(hf_model& model) {
    model.refuse_flag("tie_word_embeddings", true);
    model.sizes.num_kv_heads = fields_inside(model, "attn_config").dimension({"kv_n_heads"}, 1);
    if (model.sizes.num_heads % model.sizes.num_kv_heads != 0) {
        throw error(model.config.field("attn_config.kv_n_heads"),
                    "must divide n_heads (" + std::to_string(model.sizes.num_heads) + "), got " +
                        std::to_string(model.sizes.num_kv_heads));
    }
}

[[nodiscard]] inline cost dbrx_experts(const hf_model& model, const hf_layer& at) {
    const config_fields inside = fields_inside(model, "ffn_config");
    moe part;
    part.num_experts = inside.dimension({"moe_num_experts"}, 4);
    part.num_experts_per_tok = inside.integer({"moe_top_k"}, 1, 1, part.num_experts);
    part.intermediate_size = inside.dimension({"ffn_hidden_size"}, 3584);
    return part.cost(at.where);
}

// ---- JetMoE ----

/// Each chosen expert brings queries of its own to all key and value heads; `num_attention_heads` decides nothing.
inline void resolve_jetmoe(hf_model& model) {
    model.sizes.num_kv_heads = model.config.dimension({"num_key_value_heads"}, 16);
    model.sizes.num_heads =
        checked_multiply(model.sizes.num_kv_heads, model.read(model.family.experts.per_token), "num_attention_heads");
}

/// Queries and outputs are experts, behind a router; keys and values are as ever (arXiv:2404.07413).
[[nodiscard]] inline cost jetmoe_attention(const hf_model& model, const hf_layer& at) {
    const hf_dimensions& sizes = model.sizes;
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t width = checked_multiply(sizes.num_kv_heads, sizes.head_dim, "attention.qkv");
    const std::uint64_t experts = model.read(model.family.experts.count);
    const std::uint64_t chosen = model.read(model.family.experts.per_token);
    cost sum;
    sum.add("attention.router",
            linear{.in_features = h, .out_features = experts, .kind = term::router, .dealt = dealing::replicated()});
    const dealing heads = dealing::heads(sizes.num_kv_heads);
    sum.add("attention.qkv",
            linear{.in_features = h, .out_features = width, .applied = chosen, .stored = experts, .dealt = heads});
    sum.add(
        "attention.qkv",
        linear{.in_features = h, .out_features = width, .applied = 2, .dealt = dealing::kv_heads(sizes.num_kv_heads)});
    sum.add("attention.core", attention_core{sizes.num_heads, sizes.head_dim, sizes.head_dim}, at.where.attends);
    sum.add("attention.output",
            linear{.in_features = width, .out_features = h, .applied = chosen, .stored = experts, .dealt = heads});
    elementwise_parameters{.bias = h}.add_to(sum);
    return sum;
}

[[nodiscard]] inline cost jetmoe_experts(const hf_model& model, const hf_layer& at) {
    moe part = read_experts(model);
    part.elementwise.bias = at.where.hidden_size;  // one for all experts together
    return part.cost(at.where);
}

inline constexpr std::array moe_variants{
    hf_family{.model_type = "llama4_text",
              .class_prefix = "Llama4",
              .heads = std::span<const head>(text_model_heads).first(2),
              .vocab_size = 202048,
              .hidden_size = 5120,
              .intermediate_size = 8192,
              .num_hidden_layers = 48,
              .num_attention_heads = 40,
              .num_key_value_heads = 8,
              .head_dim = 128,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .mixers = llama4_mixers,
              .layer_types = "FC",
              .sliding_window = 8192,
              .feeds = llama4_feeds,
              .dense = llama4_dense,
              .experts = {.count = {{"num_local_experts"}, 16},
                          .per_token = {{"num_experts_per_tok"}, 1},
                          .shared_are = shared_experts::of_default}},
    hf_family{.model_type = "cohere2_moe",
              .class_prefix = "Cohere2Moe",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 256000,
              .hidden_size = 8192,
              .intermediate_size = 22528,
              .num_hidden_layers = 40,
              .num_attention_heads = 64,
              .kv_heads_may_be_null = true,
              .head_dim = 128,
              .tie_word_embeddings = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .norms_per_layer = 1,
              .mixers = cohere2_moe_mixers,
              .layer_types = "FS",
              .sliding_window = 4096,
              .feeds = cohere2_moe_feeds,
              .dense = cohere2_moe_dense,
              .experts = {.count = {{"num_experts"}, 8},
                          .per_token = {{"num_experts_per_tok"}, 2},
                          .shared_are = shared_experts::of_count,
                          .shared = {{"num_shared_experts"}, 0},
                          .first_dense = {{"first_k_dense_replace"}, 0}}},
    hf_family{.model_type = "dbrx",
              .class_prefix = "Dbrx",
              .heads = all_decoder_heads.first(2),
              .also = {.hidden_size = "d_model", .num_hidden_layers = "n_layers", .num_attention_heads = "n_heads"},
              .vocab_size = 32000,
              .hidden_size = 2048,
              .num_hidden_layers = 24,
              .num_attention_heads = 16,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .feeds = all_experts,
              .experts_layer = dbrx_experts,
              .resolve = resolve_dbrx},
    hf_family{.model_type = "jetmoe",
              .class_prefix = "JetMoe",
              .heads = all_decoder_heads.first(3),
              .also = {.head_dim = "kv_channels"},
              .vocab_size = 32000,
              .hidden_size = 2048,
              .intermediate_size = 5632,
              .num_hidden_layers = 12,
              .num_attention_heads = 32,
              .has_kv_heads = false,
              .head_dim = 128,
              .tie_word_embeddings = true,
              .attention = jetmoe_attention,
              .feeds = all_experts,
              .experts_layer = jetmoe_experts,
              .experts = {.count = {{"num_local_experts"}, 8}, .per_token = {{"num_experts_per_tok"}, 2}},
              .resolve = resolve_jetmoe},
};

}  // namespace floptally::detail
