// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/detail/message.hpp>

namespace floptally {

/// Which share of its text a tally is, where whoever counted it said so: `context_parallel_row::tally_of` does.
///
/// Equal shares of all ranks look like replicas to any sum, so that a scope which declares them replicated would be a
/// silent factor of cp. A share that is said goes with the tally, and a reduction compares it with the scope.
class context_share {
  public:
    /// Nothing is said.
    constexpr context_share() = default;

    /// That of one of `cp` ranks; all of it, of which there is nothing to say, where `cp` is 1.
    constexpr context_share(std::uint64_t cp, std::uint64_t rank) : cp_(cp == 1 ? 0 : cp), rank_(rank) {
        if (rank >= cp) {
            detail::refuse("cp_rank", {"must be below cp = ", cp, ", got ", rank});
        }
    }

    /// Whether it is said to be that of one rank.
    [[nodiscard]] constexpr bool is_said() const { return cp_ > several; }
    [[nodiscard]] constexpr std::uint64_t cp() const { return cp_; }
    [[nodiscard]] constexpr std::uint64_t rank() const { return rank_; }

    /// That of two tallies together. Shares of several ranks may be all of it, and nothing is said of them any more.
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

}  // namespace floptally
