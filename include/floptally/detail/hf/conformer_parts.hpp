// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/error.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/layer.hpp>

/// @file
/// Conformer layers (arXiv:2005.08100): a feed-forward, attention, a convolution along the frames, a feed-forward.

namespace floptally::detail {

/// Queries against projected relative positions, of which a sequence has twice as many as frames, less one
/// (arXiv:1901.02860, section 3.3). They are computed, so that no gradient passes on to them.
[[nodiscard]] inline cost projected_positions(const hf_model& model, const hf_layer& at) {
    const std::uint64_t width = checked_multiply(model.sizes.num_heads, model.sizes.head_dim, "attention.positions");
    cost sum;
    sum.add("attention.positions", linear{.in_features = at.where.hidden_size,
                                          .out_features = width,
                                          .applied = 2,
                                          .stored = 1,
                                          .kind = term::input_linear,
                                          .adaptable = false});
    sum.add_scores("attention.positions", width, at.where.attends);
    sum.add_parameters("bias", term::bias, 2 * width);
    return sum;
}

/// Queries against a table of distances.
[[nodiscard]] inline cost keys_by_distance(const hf_model& model, const hf_layer& at) {
    const std::uint64_t rows = model.config.integer({"left_max_position_embeddings"}, 64, 0, max_dimension) +
                               model.config.integer({"right_max_position_embeddings"}, 8, 0, max_dimension) + 1;
    cost sum;
    sum.add_scores("attention.positions", model.sizes.num_heads * model.sizes.head_dim, at.where.attends);
    sum.add_parameters("embedding", term::position_embedding, rows * model.sizes.head_dim);
    return sum;
}

/// "relative", "relative_key" where `keys`, or "rotary"; null is none.
template <bool Keys>
[[nodiscard]] cost conformer_attention(const hf_model& model, const hf_layer& at) {
    constexpr std::string_view key = "position_embeddings_type";
    const bool is_null = model.config.contains(key) && !model.config.has_value(key);
    const std::string type = is_null ? "rotary" : model.config.text(key, Keys ? "relative_key" : "relative");
    if (type == "relative") {
        return gqa_part(model, at) + projected_positions(model, at);
    }
    if (Keys && type == "relative_key") {
        return gqa_part(model, at) + keys_by_distance(model, at);
    }
    if (type != "rotary") {
        throw error(model.config.field(key), std::string("must be \"relative\", ")
                                                 .append(Keys ? "\"relative_key\", " : "")
                                                 .append("\"rotary\" or null, got \"")
                                                 .append(type)
                                                 .append("\""));
    }
    return gqa_part(model, at);
}

/// The convolution of a layer: in and out of it a linear, the first of which is twice as wide for its gate.
[[nodiscard]] inline cost conformer_convolution(const hf_model& model, const hf_layer& at, std::uint64_t kernel,
                                                bool bias) {
    if (kernel % 2 == 0) {
        throw error(model.config.field(model.config.contains("conv_kernel_size") ? "conv_kernel_size"
                                                                                 : "conv_depthwise_kernel_size"),
                    "must be odd, got " + std::to_string(kernel));
    }
    const std::uint64_t h = at.where.hidden_size;
    cost sum;
    sum.add("convolution", linear{.in_features = h, .out_features = 2 * h, .adaptable = false});
    sum.add("convolution", linear{.in_features = kernel, .out_features = h, .adaptable = false});
    sum.add("convolution", linear{.in_features = h, .out_features = h, .adaptable = false});
    sum.add_parameters("bias", term::bias, bias ? 4 * h : 0);
    return sum;
}

/// The second feed-forward, and the convolution.
[[nodiscard]] inline cost conformer_more(const hf_model& model, const hf_layer& at) {
    const std::uint64_t kernel = model.config.dimension({"conv_depthwise_kernel_size"}, 31);
    return dense_part(model, at) + conformer_convolution(model, at, kernel, false);
}

/// The same model with such layers. Each has six norms: one of them is of the batch.
[[nodiscard]] constexpr hf_family conformer(hf_family row) {
    row.norms_per_layer = 6;
    row.attention = conformer_attention<false>;
    row.more = conformer_more;
    return row;
}

}  // namespace floptally::detail
