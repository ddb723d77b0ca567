// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>

/// @file
/// Decoders with a gated MLP and an attention that no other family has: DiffLlama, Doge.

namespace floptally::detail {

/// Differential attention (arXiv:2410.05258): the difference of two softmax maps weighs values of two heads together,
/// so that each of the H maps is multiplied with 2·head_dim values.
[[nodiscard]] inline cost differential_attention(const hf_model& model, const hf_layer& at) {
    const hf_dimensions& sizes = model.sizes;
    const gqa part = read_gqa(model);
    cost sum = part.cost(at.where);
    // Besides gqa's H x head_dim: the values of the other head of the pair.
    sum.add("attention.core", attention_core{sizes.num_heads, 0, sizes.head_dim}, at.where.attends);
    sum.add_parameters("bias", term::bias, 4 * sizes.head_dim);  // the vectors of λ
    return sum;
}

inline void require_even_kv_heads(hf_model& model) {
    if (model.sizes.num_kv_heads % 2 != 0) {
        throw error(model.config.field("num_key_value_heads"),
                    "must be even, as values go in pairs of heads, got " + std::to_string(model.sizes.num_kv_heads));
    }
}

/// Each token sees its `keep_window_size` best keys of those that the mask leaves: min(i + 1, window, best) pairs of
/// query i. They are chosen by a linear of the values.
[[nodiscard]] inline cost doge_attention(const hf_model& model, const hf_layer& at) {
    const hf_dimensions& sizes = model.sizes;
    std::uint64_t keys = model.config.integer({"keep_window_size"}, 2048, 1, 0x7FFF'FFFF);
    if (!window_is_null(model)) {
        keys = std::min(keys, model.config.integer({"sliding_window"}, required, 1, 0x7FFF'FFFF));
    }
    layer where = at.where;
    where.attends = mask::top_k(static_cast<std::int64_t>(keys));
    const bool biased = model.has(if_attention_bias);
    cost sum = read_gqa(model).cost(where);
    sum.add("attention.keys_kept",
            linear{.in_features = sizes.num_kv_heads * sizes.head_dim, .out_features = sizes.num_kv_heads});
    sum.add_parameters("bias", term::bias, (biased ? 2 : 1) * sizes.num_kv_heads);
    // What scales the two residuals.
    sum.add_parameters("norm", term::norm, 2 * where.hidden_size);
    return sum;
}

/// Cross-domain experts of Doge: each is two vectors, found by the best pairs of 2·⌊√E⌋ keys.
[[nodiscard]] inline cost doge_experts(const hf_model& model, const hf_layer& at) {
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t experts = model.read(model.family.experts.count);
    const std::uint64_t chosen = model.read(model.family.experts.per_token);
    std::uint64_t keys = 1;
    while ((keys + 1) * (keys + 1) <= experts) {
        ++keys;
    }
    if (chosen > keys * keys) {
        throw error(model.config.field("num_experts_per_tok"), "must be at most the " + std::to_string(keys * keys) +
                                                                   " experts that keys find, got " +
                                                                   std::to_string(chosen));
    }
    cost sum = dense_part(model, at);
    sum.add("moe.router",
            linear{.in_features = h, .out_features = 2 * keys, .kind = term::router, .dealt = dealing::replicated()});
    sum.add("moe.experts", linear{.in_features = h,
                                  .out_features = 1,
                                  .applied = 2 * chosen,
                                  .stored = 2 * experts,
                                  .dealt = dealing::experts(experts, 1)});
    return sum;
}

inline constexpr std::array uncommon_decoders{
    hf_family{.model_type = "diffllama",
              .class_prefix = "DiffLlama",
              .heads = all_decoder_heads,
              .vocab_size = 32000,
              .hidden_size = 2048,
              .intermediate_size = 8192,
              .num_hidden_layers = 16,
              .num_attention_heads = 32,
              .kv_heads_may_be_null = true,
              .head_dim_may_be_null = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .attention = differential_attention,
              .resolve = require_even_kv_heads},
    hf_family{
        .model_type = "doge",
        .class_prefix = "Doge",
        .heads = all_decoder_heads.first(3),
        .vocab_size = 32768,
        .hidden_size = 1024,
        .intermediate_size = 2048,
        .num_hidden_layers = 32,
        .num_attention_heads = 8,
        .kv_heads_may_be_null = true,
        .qkv_bias = if_attention_bias,
        .output_bias = if_attention_bias,
        .mlp_bias = {"mlp_bias", false},
        .query_key_norm = qk_norm::per_head,
        .attention = doge_attention,
        .feeds =
            [](const hf_model& model) { return every_layer(model, model.config.flag("is_moe", false) ? 'e' : 'd'); },
        .experts_layer = doge_experts,
        .experts = {.count = {{"num_experts"}, 16384}, .per_token = {{"num_experts_per_tok"}, 64}}},
};

}  // namespace floptally::detail
