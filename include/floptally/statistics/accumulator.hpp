// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>

/// @file
/// The accumulators of a tally, and the three views of a batch: useful, padded, executed.

namespace floptally::inline v0_3 {

/// The sums over the sequences of a batch. A sequence has n new tokens, `past` cached tokens, and k tokens on the
/// encoder's side. Every tally has the first seven sums, and one sum `pairs` for each mask.
enum class accumulator : std::uint8_t {
    count,    ///< sequences with at least one token
    tokens,   ///< Σ n, the new tokens
    keys,     ///< Σ k, the tokens of the encoder's side (keys of cross attention)
    squares,  ///< Σ n², the squares of the numbers of new tokens
    cached,   ///< Σ n·past, new tokens times cached tokens
    crossed,  ///< Σ n·k, new tokens times tokens of the encoder's side
    routed,   ///< measured visits of tokens to experts, over all layers; in a cost entry, `routed` stands for any
              ///< `measured` sum
    pairs     ///< Σ attended pairs of one mask
};

/// The number of accumulators.
inline constexpr std::size_t accumulator_count = 8;

/// Returns true for `pairs` and `routed`. Cost entries for these two have a statistic: an index into `cost::masks()`.
[[nodiscard]] constexpr bool has_statistic(accumulator kind) {
    return kind == accumulator::pairs || kind == accumulator::routed;
}

/// Returns the name of an accumulator in texts and errors: "count", "tokens", ….
[[nodiscard]] constexpr const char* name_of(accumulator kind) {
    constexpr const char* names[accumulator_count] = {"count",  "tokens",  "keys",   "squares",
                                                      "cached", "crossed", "routed", "pairs"};
    return names[static_cast<std::size_t>(kind)];
}

/// The work that a number includes: the work of real tokens, the work of all slots, or all executed work.
enum class view : std::uint8_t {
    useful,  ///< real tokens
    padded,  ///< all tokens that a kernel processes, with alignment, context-parallel padding and mock sequences
    /// The padded work, plus recomputed forward passes and the product that a fused attention backward repeats.
    executed
};
/// The names of the values of `view`, in the same order.
inline constexpr const char* view_names[] = {"useful", "padded", "executed"};
/// Returns "useful", "padded" or "executed".
[[nodiscard]] constexpr const char* name_of(view which) { return view_names[static_cast<std::size_t>(which)]; }

/// Writes the name of an accumulator to a stream: "tokens".
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, accumulator what) {
    return to << name_of(what);
}
/// Writes the name of a view to a stream: "useful".
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, view seen) {
    return to << name_of(seen);
}

}  // namespace floptally
