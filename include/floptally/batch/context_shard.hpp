// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/text/error.hpp>

/// @file
/// Two marks of a tally. The first says which context-parallel shard the tally counts. The second says over which
/// parallel axes the tally was already summed.

namespace floptally::inline v0_3 {

/// One of `cp` context-parallel ranks: its index `rank` and the number of ranks `cp`.
struct cp_rank {
    std::uint64_t cp = 1;
    std::uint64_t rank = 0;

    [[nodiscard]] friend constexpr bool operator==(const cp_rank&, const cp_rank&) = default;
};

/// The context-parallel shard that a tally counts, if its creator marked it. `context_parallel_pack::tally_of` marks
/// its tallies.
///
/// The mark says which context-parallel shard a tally counts. With it a sum over ranks checks what the caller says
/// about the ranks' data. If the caller wrongly says that context-parallel ranks hold copies, equal shards would be
/// counted once instead of `cp` times. Without the mark this error cannot be detected.
class context_shard {
  public:
    /// Creates the mark of a tally that counts whole sequences and not a shard.
    constexpr context_shard() = default;

    /// Creates the mark of a tally that counts the shard of one rank. With `cp` = 1 a shard is the whole sequence, and
    /// the tally gets no mark.
    constexpr explicit context_shard(const cp_rank& held) : cp_(held.cp == 1 ? 0 : held.cp), rank_(held.rank) {
        if (held.rank >= held.cp) {
            detail::refuse("cp_rank", {"must be below cp = ", held.cp, ", got ", held.rank});
        }
    }

    /// Returns true if the tally is marked as the shard of one rank.
    [[nodiscard]] constexpr bool is_known() const { return cp_ > several; }
    /// Returns the number of context-parallel ranks; 0 without a mark, 1 for the sum of several ranks' shards.
    [[nodiscard]] constexpr std::uint64_t cp() const { return cp_; }
    /// Returns the index of the context-parallel rank.
    [[nodiscard]] constexpr std::uint64_t rank() const { return rank_; }

    /// Combines the marks of two tallies that are added. If the marks name different shards, the result is not marked
    /// as the shard of one rank.
    constexpr context_shard& operator+=(const context_shard& other) {
        if (cp_ == 0) {
            *this = other;
        } else if (other.cp_ != 0 && !(*this == other)) {
            cp_ = several;
            rank_ = 0;
        }
        return *this;
    }

    [[nodiscard]] friend constexpr bool operator==(const context_shard&, const context_shard&) = default;

  private:
    static constexpr std::uint64_t several = 1;

    std::uint64_t cp_ = 0;
    std::uint64_t rank_ = 0;
};

/// The axes over which a tally was already summed. Every sum over ranks marks its result with them. A second sum over
/// the same axis throws, since it would count the ranks twice.
class added_up {
  public:
    /// Creates the mark of a tally that was not summed over ranks.
    constexpr added_up() = default;

    /// Marks a sum over these axes of a parallel layout, one bit for each `parallel_axis`. `visits` is true if the sum
    /// counts each microbatch once, although a pipeline rank may have run it several times.
    constexpr added_up(std::uint32_t axes, bool visits) : axes_(axes), visits_(visits) {}

    /// Returns true if the tally was summed over any axis, or if it counts each microbatch once (`over_visits`).
    [[nodiscard]] constexpr bool is_marked() const { return axes_ != 0 || visits_; }
    /// Returns true if the tally was summed over this axis. `axis` is the integer value of a `parallel_axis`.
    [[nodiscard]] constexpr bool over(std::uint32_t axis) const { return (axes_ >> axis & 1U) != 0; }
    /// Returns true if the sum counts each microbatch once, although a pipeline rank may have run it several times.
    [[nodiscard]] constexpr bool over_visits() const { return visits_; }

    /// Combines the marks of two tallies that are added. The result may not be summed again over an axis of either
    /// tally.
    constexpr added_up& operator+=(const added_up& other) {
        axes_ |= other.axes_;
        visits_ = visits_ || other.visits_;
        return *this;
    }

    [[nodiscard]] friend constexpr bool operator==(const added_up&, const added_up&) = default;

  private:
    std::uint32_t axes_ = 0;
    bool visits_ = false;
};

}  // namespace floptally
