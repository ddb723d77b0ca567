// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace floptally {

/// What a batch is reduced to. The first seven are kept by every tally; `pairs` stands for one word per mask.
enum class statistic : std::uint8_t {
    count,    ///< sequences with at least one token
    tokens,   ///< Σ n
    keys,     ///< Σ k, the tokens on the other side of cross attention
    squares,  ///< Σ n²
    cached,   ///< Σ n·past
    crossed,  ///< Σ n·k
    routed,   ///< visits of tokens to experts, as measured, over all layers; of a row: any `measured` word
    pairs     ///< Σ attended pairs of one mask
};

inline constexpr std::size_t statistic_count = 8;

/// Whether a row over it says by an index into `cost::masks()` which rule it multiplies.
[[nodiscard]] constexpr bool has_rule(statistic what) { return what == statistic::pairs || what == statistic::routed; }

/// "count", "tokens", …: as errors name it.
[[nodiscard]] constexpr const char* name_of(statistic what) {
    constexpr const char* names[statistic_count] = {"count",  "tokens",  "keys",   "squares",
                                                    "cached", "crossed", "routed", "pairs"};
    return names[static_cast<std::size_t>(what)];
}

/// The same batch, seen two ways; `executed` is `padded` with what recompute and a fused backward add.
enum class view : std::uint8_t {
    useful,   ///< real tokens
    padded,   ///< every slot that a kernel processes: alignment, context-parallel padding, mock sequences
    executed  ///< padded, plus recompute and the product that a fused attention backward computes again
};

}  // namespace floptally
