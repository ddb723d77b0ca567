// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/feed_forward.hpp>

/// @file
/// The layer rules and parts that only one of the families in shared_expert_decoders.hpp takes.

namespace floptally::detail {

// ---- rules ----

/// dots.llm1: windows from `max_window_layers` on; no switch turns them off, and the default is the 63rd layer.
[[nodiscard]] inline std::string dots1_mixers(const hf_model& model) {
    if (window_is_null(model)) {
        return all_full(model);
    }
    const std::uint64_t first = model.config.integer({"max_window_layers"}, 62, 0, max_layers);
    return where(model, 'S', 'F', [first](std::uint64_t i) { return i >= first; });
}

/// AFMoE: every `global_attn_every_n_layers`-th layer is full.
[[nodiscard]] inline std::string afmoe_mixers(const hf_model& model) {
    const std::uint64_t period = model.config.integer({"global_attn_every_n_layers"}, 4, 1, max_layers);
    return where(model, 'S', 'F', [period](std::uint64_t i) { return (i + 1) % period != 0; });
}

/// MiMo: the first layer and every sixth are full.
[[nodiscard]] inline std::string mimo_mixers(const hf_model& model) {
    return where(model, 'F', 'S', [](std::uint64_t i) { return i == 0 || (i + 1) % 6 == 0; });
}

/// ERNIE: experts in every `moe_layer_interval`-th layer from a start index to an end index, both included; −1 is the
/// last layer.
[[nodiscard]] inline std::string ernie_feeds(const hf_model& model) {
    const json* end = model.config.find("moe_layer_end_index");
    const std::uint64_t last = end == nullptr || *end == -1
                                   ? max_layers
                                   : model.config.integer({"moe_layer_end_index"}, required, 0, max_layers);
    const std::uint64_t first = model.config.integer({"moe_layer_start_index"}, 1, 0, max_layers);
    const std::uint64_t step = model.config.integer({"moe_layer_interval"}, 1, 1, max_layers);
    return where(model, 'e', 'd', [=](std::uint64_t i) { return (i + 1) % step == 0 && i >= first && i <= last; });
}

[[nodiscard]] inline std::string listed_or_dense_first(const hf_model& model) {
    return by_mlp_layer_types(model, dense_first_feeds);
}
[[nodiscard]] inline std::string listed_or_one_dense(const hf_model& model) {
    return by_mlp_layer_types(
        model, [](const hf_model& m) { return where(m, 'd', 'e', [](std::uint64_t i) { return i == 0; }); });
}
[[nodiscard]] inline std::string listed_or_all_experts(const hf_model& model) {
    return by_mlp_layer_types(model, all_experts);
}

// ---- parts ----

/// GLM-4.5: norms of queries and keys only where `use_qk_norm`.
[[nodiscard]] inline cost glm4_moe_attention(const hf_model& model, const hf_layer& at) {
    gqa part = read_gqa(model);
    part.elementwise.norm = model.config.flag("use_qk_norm", false) ? 2 * model.sizes.head_dim : 0;
    return part.cost(at.where);
}

/// AFMoE: an output gate for every channel.
[[nodiscard]] inline cost afmoe_attention(const hf_model& model, const hf_layer& at) {
    gqa part = read_gqa(model);
    part.gate_size = checked_multiply(part.num_heads, part.head_dim, "attention.gate");
    return part.cost(at.where);
}

/// Laguna: query heads may differ between layers; an output gate for every head or every channel.
[[nodiscard]] inline cost laguna_attention(const hf_model& model, const hf_layer& at) {
    hf_model own = model;
    if (const hf_size heads{{"num_attention_heads_per_layer"}}; model.config.array(*heads.keys.begin()) != nullptr) {
        own.sizes.num_heads = read_of_layer(model, heads, at.where.index);
    }
    const json* gating = model.config.find("gating");
    const bool per_head = gating == nullptr || *gating == true || *gating == "per-head";
    if (!per_head && *gating != false && *gating != "per-element") {
        throw error(model.config.field("gating"),
                    R"(must be true, "per-head", false or "per-element", got )" + shown(*gating));
    }
    gqa part = read_gqa(own);
    part.gate_size = per_head ? part.num_heads : checked_multiply(part.num_heads, part.head_dim, "attention.gate");
    return part.cost(at.where);
}

/// MiMo: values narrower than queries and keys; layers with a window have twice the key and value heads, and sinks.
[[nodiscard]] inline cost mimo_attention(const hf_model& model, const hf_layer& at) {
    const hf_dimensions& sizes = model.sizes;
    const bool window = at.mixer == 'S';
    const std::uint64_t kv_heads = sizes.num_kv_heads * (window ? 2 : 1);
    require_heads(sizes.num_heads, kv_heads, sizes.head_dim);
    const std::uint64_t v_head_dim = model.config.dimension({"v_head_dim"}, 128);
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t query = checked_multiply(sizes.num_heads, sizes.head_dim, "attention.qkv");
    const std::uint64_t key = checked_multiply(kv_heads, sizes.head_dim, "attention.qkv");
    const std::uint64_t value = checked_multiply(kv_heads, v_head_dim, "attention.qkv");
    // This key counts the earlier tokens only, without the query itself.
    constexpr std::string_view earlier = "sliding_window_size";
    const bool by_earlier = window && model.config.has_value(earlier);
    cost sum;
    const dealing by_heads = dealing::heads(sizes.num_heads);
    sum.add("attention.qkv", linear{.in_features = h, .out_features = query, .dealt = by_heads});
    for (const std::uint64_t width : {key, value}) {
        sum.add("attention.qkv", linear{.in_features = h, .out_features = width, .dealt = dealing::kv_heads(kv_heads)});
    }
    sum.add("attention.core", attention_core{sizes.num_heads, sizes.head_dim, v_head_dim},
            by_earlier ? mask::sliding_window(
                             static_cast<std::int64_t>(model.config.integer({earlier}, required, 0, 0x7FFF'FFFE)) + 1)
                       : at.where.attends);
    sum.add("attention.output", linear{.in_features = checked_multiply(sizes.num_heads, v_head_dim, "attention.output"),
                                       .out_features = h,
                                       .dealt = by_heads});
    sum.add_parameters("bias", term::bias,
                       (model.has(model.family.qkv_bias) ? query + key + value : 0) + (window ? sizes.num_heads : 0));
    return sum;
}

/// Hunyuan: experts and the shared one are of `intermediate_size`; how many a token visits may differ between layers.
[[nodiscard]] inline cost hunyuan_experts(const hf_model& model, const hf_layer& at) {
    const hf_experts& rule = model.family.experts;
    return moe{.num_experts = model.read(rule.count),
               .num_experts_per_tok = read_of_layer(model, rule.per_token, at.where.index),
               .intermediate_size = model.sizes.intermediate_size,
               .shared_intermediate_size = model.sizes.intermediate_size}
        .cost(at.where);
}

/// Hunyuan 3 takes no shared expert as one of `intermediate_size`: that cannot be meant.
inline void require_shared_experts(hf_model& model) { static_cast<void>(model.read(model.family.experts.shared)); }

}  // namespace floptally::detail
