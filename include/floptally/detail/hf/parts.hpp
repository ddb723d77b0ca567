// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/feed_forward.hpp>
#include <floptally/model/layer.hpp>

/// @file
/// The parts that most families take: grouped-query attention, the dense MLP, experts.

namespace floptally::detail {

[[nodiscard]] inline gqa read_gqa(const hf_model& model) {
    const hf_dimensions& sizes = model.sizes;
    const hf_family& family = model.family;
    const std::uint64_t query_width = checked_multiply(sizes.num_heads, sizes.head_dim, "attention.qkv");
    const std::uint64_t kv_width = checked_multiply(sizes.num_kv_heads, sizes.head_dim, "attention.qkv");
    gqa part{sizes.num_heads, sizes.num_kv_heads, sizes.head_dim, {}};
    part.elementwise.bias = (model.has(family.qkv_bias) ? query_width + 2 * kv_width : 0) +
                            (model.has(family.output_bias) ? sizes.hidden_size : 0) +
                            (family.attention_sinks ? sizes.num_heads : 0);
    switch (family.query_key_norm) {
        case qk_norm::none:
            break;
        case qk_norm::per_head:
            part.elementwise.norm = 2 * sizes.head_dim;
            break;
        case qk_norm::full_width:
            part.elementwise.norm = query_width + kv_width;
            break;
    }
    return part;
}

[[nodiscard]] inline cost gqa_part(const hf_model& model, const hf_layer& at) { return read_gqa(model).cost(at.where); }

/// Queries, keys and values of one matrix.
[[nodiscard]] inline cost fused_gqa_part(const hf_model& model, const hf_layer& at) {
    gqa part = read_gqa(model);
    part.fused_qkv = true;
    return part.cost(at.where);
}

/// A decoder's attention over its encoder's output: the heads and biases of its own attention.
[[nodiscard]] inline cost cross_of(const gqa& own, const hf_layer& at) {
    return cross_attention{own.num_heads, own.num_kv_heads, own.head_dim, 0, own.elementwise}.cost(at.where);
}
[[nodiscard]] inline cost cross_part(const hf_model& model, const hf_layer& at) {
    return cross_of(read_gqa(model), at);
}

/// A dense MLP of the family's kind and of any width.
[[nodiscard]] inline cost dense_of(const hf_model& model, const hf_layer& at, std::uint64_t width) {
    const bool biased = model.has(model.family.mlp_bias);
    const std::uint64_t h = at.where.hidden_size;
    if (model.family.mlp == mlp_kind::plain) {
        return mlp{width, {.bias = biased ? width + h : 0}}.cost(at.where);
    }
    return gated_mlp{width, {.bias = biased ? 2 * width + h : 0}}.cost(at.where);
}

[[nodiscard]] inline cost dense_part(const hf_model& model, const hf_layer& at) {
    return dense_of(model, at, model.sizes.intermediate_size);
}

[[nodiscard]] inline moe read_experts(const hf_model& model) {
    const hf_experts& rule = model.family.experts;
    moe part;
    part.num_experts = model.read(rule.count);
    part.num_experts_per_tok = model.read(rule.per_token);
    part.intermediate_size = rule.width.keys.empty() ? model.sizes.intermediate_size : model.read(rule.width);
    part.gated = rule.kind == mlp_kind::gated;
    switch (rule.shared_are) {
        case shared_experts::none:
            break;
        case shared_experts::of_width:
            part.shared_intermediate_size = model.read(rule.shared);
            break;
        case shared_experts::of_width_or_none:
            part.shared_intermediate_size = model.read_or_none(rule.shared);
            break;
        case shared_experts::of_count:
            part.shared_intermediate_size =
                checked_multiply(model.read_or_none(rule.shared), part.intermediate_size, "moe.shared");
            break;
        case shared_experts::of_default:
            part.shared_intermediate_size = model.sizes.intermediate_size;
            break;
    }
    part.shared_expert_gate = rule.shared_gate && part.shared_intermediate_size != 0;
    const std::uint64_t up = part.gated ? 2 : 1;
    // The shared experts are the dense MLP of the same class, with its biases.
    const bool shared_bias = part.shared_intermediate_size != 0 && model.has(model.family.mlp_bias);
    part.elementwise.bias =
        (rule.router_bias ? part.num_experts : 0) +
        (rule.bias ? part.num_experts * (up * part.intermediate_size + model.sizes.hidden_size) : 0) +
        (shared_bias ? up * part.shared_intermediate_size + model.sizes.hidden_size : 0);
    return part;
}

/// For classes whose routing has a fixed number of experts, whatever the config says.
template <std::uint64_t Count>
void require_experts_per_token(hf_model& model) {
    const hf_size& chosen = model.family.experts.per_token;
    if (model.read(chosen) != Count) {
        const std::string_view key = model.config.spelling(chosen.keys);
        throw error(model.config.field(key), model.refusal(std::to_string(Count), *model.config.find(key)));
    }
}

[[nodiscard]] inline cost experts_part(const hf_model& model, const hf_layer& at) {
    return read_experts(model).cost(at.where);
}

/// Where the output projection, or the norm before it, is hidden_size wide whatever the heads are.
inline void require_heads_fill_hidden(hf_model& model) {
    const hf_dimensions& sizes = model.sizes;
    if (sizes.hidden_size % sizes.num_heads != 0 || sizes.head_dim != sizes.hidden_size / sizes.num_heads) {
        throw error(model.config.field("head_dim"),
                    "must be hidden_size / num_attention_heads (" + std::to_string(sizes.hidden_size) + " / " +
                        std::to_string(sizes.num_heads) + "), got " + std::to_string(sizes.head_dim));
    }
}

}  // namespace floptally::detail
