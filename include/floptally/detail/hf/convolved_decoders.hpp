// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/model/state_space.hpp>

/// @file
/// ZAYA1: compressed convolutional attention (arXiv:2510.04476) and experts behind a router of several layers.

namespace floptally::detail {

[[nodiscard]] inline std::string zaya_mixers(const hf_model& model) {
    std::string letters = all_full(model);
    if (const json* types = model.config.array("layer_types")) {
        for (std::size_t index = 0; index < letters.size(); ++index) {
            const json& type = (*types)[index];
            if (type != "hybrid" && type != "hybrid_sliding") {
                throw error(indexed(model.config.field("layer_types"), index),
                            R"(must be "hybrid" or "hybrid_sliding", got )" + shown(type));
            }
            letters[index] = type == "hybrid" ? 'F' : 'S';
        }
    }
    return letters;
}

/// Queries and keys pass two causal convolutions, the first by channel, the second by head; half of the values come
/// from the token before. The residual streams have scales and biases of their own.
[[nodiscard]] inline cost zaya_attention(const hf_model& model, const hf_layer& at) {
    const hf_dimensions& sizes = model.sizes;
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t query_width = checked_multiply(sizes.num_heads, sizes.head_dim, "attention.qkv");
    const std::uint64_t kv_width = checked_multiply(sizes.num_kv_heads, sizes.head_dim, "attention.qkv");
    const std::uint64_t convolved = checked_add(query_width, kv_width, "attention.qkv");
    const std::uint64_t by_head = model.config.dimension({"cca_time1"}, 2);
    cost sum;
    sum.add("attention.qkv",
            linear{.in_features = h, .out_features = query_width, .dealt = dealing::heads(sizes.num_heads)});
    sum.add(
        "attention.qkv",
        linear{
            .in_features = h, .out_features = kv_width, .applied = 2, .dealt = dealing::kv_heads(sizes.num_kv_heads)});
    add_convolution(sum, model.config.dimension({"cca_time0"}, 2), convolved);
    sum.add("mixer.convolution", linear{.in_features = checked_multiply(by_head, sizes.head_dim, "mixer.convolution"),
                                        .out_features = convolved,
                                        .dealt = dealing::even()});
    sum.add("attention.core", attention_core{sizes.num_heads, sizes.head_dim, sizes.head_dim}, at.where.attends);
    sum.add("attention.output",
            linear{.in_features = query_width, .out_features = h, .dealt = dealing::heads(sizes.num_heads)});
    const std::uint64_t projections = model.has(if_attention_bias) ? convolved + kv_width + h : 0;
    elementwise_parameters{.norm = sizes.num_kv_heads + 8 * h, .bias = 2 * convolved + projections}.add_to(sum);
    return sum;
}

/// Beside the experts the router knows one that does nothing; which tokens skip to it depends on the data, so here
/// every token visits an expert.
[[nodiscard]] inline cost zaya_experts(const hf_model& model, const hf_layer& at) {
    const hf_experts& rule = model.family.experts;
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t experts = model.read(rule.count);
    const std::uint64_t width = model.config.dimension({"router_hidden_size"}, 256);
    cost sum;
    sum.add("moe.router",
            linear{.in_features = h, .out_features = width, .kind = term::router, .dealt = dealing::replicated()});
    sum.add("moe.router", linear{.in_features = width,
                                 .out_features = width,
                                 .applied = 2,
                                 .kind = term::router,
                                 .dealt = dealing::replicated()});
    sum.add(
        "moe.router",
        linear{
            .in_features = width, .out_features = experts + 1, .kind = term::router, .dealt = dealing::replicated()});
    sum.add("moe.experts", linear{.in_features = h,
                                  .out_features = model.read(rule.width),
                                  .applied = 3,
                                  .stored = checked_multiply(3, experts, "moe.experts"),
                                  .dealt = dealing::experts(experts, model.read(rule.width))});
    // From the second layer on, the router's states of the layer before are added with a scale.
    elementwise_parameters{.norm = (at.where.index == 0 ? 1 : 2) * width, .bias = 3 * width}.add_to(sum);
    return sum;
}

[[nodiscard]] inline cost zaya_input_scale(const hf_model& model) {
    cost sum;
    elementwise_parameters{.norm = 2 * model.sizes.hidden_size}.add_to(sum);
    return sum;
}

inline constexpr std::array convolved_decoders{
    hf_family{.model_type = "zaya",
              .class_prefix = "Zaya",
              .heads = std::span<const head>(heads_of_optional_bias).first(2),
              .vocab_size = 262272,
              .hidden_size = 2048,
              .num_hidden_layers = 40,
              .num_attention_heads = 8,
              .num_key_value_heads = 2,
              .head_dim = 128,
              .tie_word_embeddings = true,
              .mixers = zaya_mixers,
              .attention = zaya_attention,
              .feeds = all_experts,
              .experts_layer = zaya_experts,
              .experts = {.count = {{"num_experts"}, 16},
                          .per_token = {{"num_experts_per_tok"}, 1},
                          .width = {{"moe_intermediate_size"}, 2048}},
              .once = zaya_input_scale,
              .resolve = require_experts_per_token<1>},
};

}  // namespace floptally::detail
