// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/text/error.hpp>

/// @file
/// Marks of a tally: one rank's share of a batch, and the axes that were added up already.

namespace floptally {

/// The share of its text that a tally is, where its maker said so: `context_parallel_row::tally_of` does.
///
/// Equal shares of all ranks look like replicas to any sum, so that a scope which declares them replicated would be a
/// silent factor of cp. A share that is said goes with the tally, and a reduction compares it with the scope.
class context_share {
  public:
    /// A share of which nothing is said.
    constexpr context_share() = default;

    /// The share of one of `cp` ranks; where `cp` is 1 it is all of the text, of which nothing is said.
    constexpr context_share(std::uint64_t cp, std::uint64_t rank) : cp_(cp == 1 ? 0 : cp), rank_(rank) {
        if (rank >= cp) {
            detail::refuse("cp_rank", {"must be below cp = ", cp, ", got ", rank});
        }
    }

    /// True where it is said to be the share of one rank.
    [[nodiscard]] constexpr bool is_said() const { return cp_ > several; }
    /// The number of ranks; 0 where nothing is said, 1 for shares of several ranks together.
    [[nodiscard]] constexpr std::uint64_t cp() const { return cp_; }
    [[nodiscard]] constexpr std::uint64_t rank() const { return rank_; }

    /// The share of two tallies together. Shares of several ranks may be all of the text, so that nothing is said of
    /// them any more.
    constexpr context_share& operator+=(const context_share& other) {
        if (cp_ == 0) {
            *this = other;
        } else if (other.cp_ != 0 && !(*this == other)) {
            cp_ = several;
            rank_ = 0;
        }
        return *this;
    }

    [[nodiscard]] friend constexpr bool operator==(const context_share&, const context_share&) = default;

  private:
    static constexpr std::uint64_t several = 1;

    std::uint64_t cp_ = 0;
    std::uint64_t rank_ = 0;
};

/// The axes over which a tally was added up already. The result of a sum over ranks is marked with them, and a second
/// sum that would count its ranks once more refuses it.
class added_up {
  public:
    /// The mark of a tally that was added up over nothing.
    constexpr added_up() = default;

    /// The mark of a sum over these axes of a layout, a bit for each `parallel_axis`; `visits` is true where each
    /// microbatch counts once in it, however often a rank visited it.
    constexpr added_up(std::uint32_t axes, bool visits) : axes_(axes), visits_(visits) {}

    /// True where the tally was added up over anything.
    [[nodiscard]] constexpr bool is_said() const { return axes_ != 0 || visits_; }
    /// True where it was added up over this axis, a `parallel_axis` as a number.
    [[nodiscard]] constexpr bool over(std::uint32_t axis) const { return (axes_ >> axis & 1U) != 0; }
    /// True where each microbatch counts once, however often a rank visited it.
    [[nodiscard]] constexpr bool over_visits() const { return visits_; }

    /// The mark of two tallies together: the axes of either must not be summed again.
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
