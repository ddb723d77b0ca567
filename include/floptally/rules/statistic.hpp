// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// @file
/// The words that every tally keeps, and the views: useful, padded, executed.

namespace floptally {

/// A sum that a batch is reduced to. The first seven are kept by every tally; `pairs` stands for one word per mask.
enum class statistic : std::uint8_t {
    count,    ///< sequences with at least one token
    tokens,   ///< Σ n
    keys,     ///< Σ k, the tokens on the other side of cross attention
    squares,  ///< Σ n²
    cached,   ///< Σ n·past
    crossed,  ///< Σ n·k
    routed,   ///< visits of tokens to experts, measured, over all layers; in a row of a cost: any `measured` word
    pairs     ///< Σ attended pairs of one mask
};

/// The number of statistics.
inline constexpr std::size_t statistic_count = 8;

/// True where a row over it names the rule that it multiplies, by an index into `cost::masks()`.
[[nodiscard]] constexpr bool has_rule(statistic what) { return what == statistic::pairs || what == statistic::routed; }

/// The name of a statistic in texts and errors: "count", "tokens", ….
[[nodiscard]] constexpr const char* name_of(statistic what) {
    constexpr const char* names[statistic_count] = {"count",  "tokens",  "keys",   "squares",
                                                    "cached", "crossed", "routed", "pairs"};
    return names[static_cast<std::size_t>(what)];
}

/// A way to see one batch; `executed` is `padded` with what recompute and a fused backward add.
enum class view : std::uint8_t {
    useful,   ///< real tokens
    padded,   ///< every slot that a kernel processes: alignment, context-parallel padding, mock sequences
    executed  ///< padded, plus recompute and the product that a fused attention backward computes again
};
/// Names of the views, in their order.
inline constexpr const char* view_names[] = {"useful", "padded", "executed"};
/// "useful", "padded" or "executed".
[[nodiscard]] constexpr const char* name_of(view seen) { return view_names[static_cast<std::size_t>(seen)]; }

}  // namespace floptally
