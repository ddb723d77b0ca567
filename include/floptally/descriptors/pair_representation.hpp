// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/other_side_masks.hpp>

/// @file
/// Parts of models with a vector for each pair of tokens (AlphaFold 3, doi:10.1038/s41586-024-07487-w, and related
/// models). A sequence of n tokens has n² pairs. `sequence::keys` is the number s of rows of the multiple sequence
/// alignment. For a transition layer of pairs, use `gated_mlp::cost(…).over(unit::powers(2))`.

namespace floptally::inline v0_3 {

namespace detail {

/// Adds `count` weight matrices from width `in` to width `out`, applied to each token, pair, … that `units` counts.
constexpr void add_matrices(cost& sum, std::string_view component, std::uint64_t in, std::uint64_t out,
                            std::uint64_t count, const statistic& units) {
    sum.add(component, linear{.in_features = in, .out_features = out, .applied = count, .stored = count}, units);
}
/// Adds a product of two activations with `multiply_adds` for each token, pair, … that `units` counts.
constexpr void add_products(cost& sum, std::string_view component, std::uint64_t multiply_adds,
                            const statistic& units) {
    floptally::cost product;
    product.add_state(component, multiply_adds);
    sum += product.over(units);
}
/// Adds an attention core with one head_dim for queries, keys and values.
constexpr void add_core(cost& sum, std::string_view component, std::uint64_t num_heads, std::uint64_t head_dim,
                        const statistic& pairs) {
    sum.add(component, attention_core{.num_heads = num_heads, .qk_head_dim = head_dim, .v_head_dim = head_dim}, pairs);
}
/// Returns num_heads · head_dim, the width of all heads together.
[[nodiscard]] constexpr std::uint64_t width_of_heads(std::uint64_t num_heads, std::uint64_t head_dim,
                                                     std::string_view component) {
    require_positive(num_heads, "num_heads");
    return checked(num_heads, component) * head_dim;
}

}  // namespace detail

/// A triangle multiplication in one direction (algorithms 11 and 12). A pair has a vector of width z = hidden_size, and
/// the product has width c = `width`.
///
/// With z = hidden_size and c = `width`, a pair takes 2·z·4c forward FLOPs for two values and their gates, 2·c·z for
/// the output and 2·z·z for the output's gate. The product takes 2·c FLOPs for each triple of tokens.
struct triangle_multiplication {
    std::uint64_t width = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(width, "width");
        floptally::cost sum;
        detail::add_matrices(sum, "triangles.in", where.hidden_size, width, 4, unit::powers(2));
        detail::add_products(sum, "triangles.core", width, unit::powers(3));
        detail::add_matrices(sum, "triangles.out", width, where.hidden_size, 1, unit::powers(2));
        detail::add_matrices(sum, "triangles.gate", where.hidden_size, where.hidden_size, 1, unit::powers(2));
        elementwise.add_to(sum);
        return sum;
    }
};

/// Triangle attention around a starting or an ending node (algorithms 13 and 14). A pair attends to all pairs with the
/// same starting (or ending) token. The third edge of the triangle gives the bias.
///
/// Forward FLOPs with z = hidden_size, H = num_heads and d = head_dim: a pair takes 2·z·H for the bias, 2·z·4Hd for q,
/// k, v and a gate, and 2·Hd·z for the output. A triple of tokens takes 4·Hd.
struct triangle_attention {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        const std::uint64_t width = detail::width_of_heads(num_heads, head_dim, "pairs.core");
        floptally::cost sum;
        detail::add_matrices(sum, "pairs.bias", where.hidden_size, num_heads, 1, unit::powers(2));
        detail::add_matrices(sum, "pairs.qkv", where.hidden_size, width, 4, unit::powers(2));
        detail::add_core(sum, "pairs.core", num_heads, head_dim, unit::powers(3));
        detail::add_matrices(sum, "pairs.output", width, where.hidden_size, 1, unit::powers(2));
        elementwise.add_to(sum);
        return sum;
    }
};

/// The mean of outer products over an alignment (algorithm 9). The alignment's tokens have the width hidden_size, the
/// resulting pairs the width `pair_size`.
///
/// Forward FLOPs with m = hidden_size, c = width and z = pair_size: a token of the alignment takes 2·m·2c. A pair takes
/// 2·c² for each row of the alignment, and 2·c²·z once.
struct outer_product_mean {
    std::uint64_t width = 0;
    std::uint64_t pair_size = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(width, "width");
        const std::uint64_t outer = checked(width, "msa.outer") * width;
        floptally::cost sum;
        detail::add_matrices(sum, "msa.outer", where.hidden_size, width, 2, unit::powers(1, 1));
        detail::add_products(sum, "msa.outer", outer, unit::powers(2, 1));
        detail::add_matrices(sum, "msa.outer", outer, pair_size, 1, unit::powers(2));
        elementwise.add_to(sum);
        return sum;
    }
};

/// An average of each row of an alignment with weights from the pairs (algorithm 10): attention without queries.
///
/// Forward FLOPs with m = hidden_size, z = pair_size, H = num_heads and d = head_dim: a token of the alignment takes
/// 2·m·2Hd for values and a gate, and 2·Hd·m for the output. A pair takes 2·z·H once, and 2·Hd for each row.
struct pair_weighted_average {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t pair_size = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        const std::uint64_t width = detail::width_of_heads(num_heads, head_dim, "msa.core");
        floptally::cost sum;
        detail::add_matrices(sum, "msa.qkv", where.hidden_size, width, 2, unit::powers(1, 1));
        detail::add_matrices(sum, "msa.bias", pair_size, num_heads, 1, unit::powers(2));
        detail::add_products(sum, "msa.core", width, unit::powers(2, 1));
        detail::add_matrices(sum, "msa.output", width, where.hidden_size, 1, unit::powers(1, 1));
        elementwise.add_to(sum);
        return sum;
    }
};

/// Gated attention along an alignment's rows with pairs as bias, or with `columns` along its columns (AlphaFold 2,
/// algorithms 7 and 8). Forward FLOPs with m = hidden_size, z = pair_size, H = num_heads and d = head_dim: a token of
/// the alignment takes 2·m·4Hd for q, k, v and a gate, and 2·Hd·m for the output. Along rows, a pair takes 2·z·H for
/// the bias. An attended pair takes 4·Hd.
struct alignment_attention {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t pair_size = 0;  ///< width of the pair vectors that give the attention bias; 0: no bias
    bool columns = false;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        const std::uint64_t width = detail::width_of_heads(num_heads, head_dim, "msa.core");
        floptally::cost sum;
        detail::add_matrices(sum, "msa.qkv", where.hidden_size, width, 4, unit::powers(1, 1));
        if (pair_size != 0) {
            detail::add_matrices(sum, "msa.bias", pair_size, num_heads, 1, unit::powers(2));
        }
        detail::add_core(sum, "msa.core", num_heads, head_dim, columns ? unit::powers(1, 2) : unit::powers(2, 1));
        detail::add_matrices(sum, "msa.output", width, where.hidden_size, 1, unit::powers(1, 1));
        elementwise.add_to(sum);
        return sum;
    }
};

/// Attention between tokens with a gate, and with pairs as bias (algorithm 24). Forward FLOPs with h = hidden_size, z =
/// pair_size, H = num_heads and d = head_dim: a token takes 2·h·4Hd for q, k, v and the gate, and 2·Hd·h for the
/// output. A pair takes 2·z·H for the bias and 4·Hd for the attention.
struct pair_biased_attention {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t pair_size = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        const std::uint64_t width = detail::width_of_heads(num_heads, head_dim, "tokens.core");
        floptally::cost sum;
        sum.add("tokens.qkv", linear{where.hidden_size, width, 4, 4});
        detail::add_matrices(sum, "tokens.bias", pair_size, num_heads, 1, unit::powers(2));
        detail::add_core(sum, "tokens.core", num_heads, head_dim, mask::bidirectional());
        sum.add("tokens.output", linear{.in_features = width, .out_features = where.hidden_size});
        elementwise.add_to(sum);
        return sum;
    }
};

}  // namespace floptally
