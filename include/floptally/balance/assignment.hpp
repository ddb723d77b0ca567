// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/balance/cost_range.hpp>
#include <floptally/balance/detail/whole_costs.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/text/error.hpp>

/// @file
/// An assignment of samples to ranks, and the loads that it gives them.

namespace floptally::inline v0_3 {

/// An assignment of samples to ranks, with the loads of each rank.
struct assignment {
    std::vector<std::uint32_t> rank_of{};  ///< rank of each sample
    std::vector<std::uint32_t> samples{};  ///< sample indices: those of rank 0, then of rank 1, …; ascending within
                                           ///< each rank
    /// For each rank, the index in `samples` at which its samples begin. One more entry at the end is the size of
    /// `samples`.
    std::vector<std::size_t> boundaries{};
    std::vector<uint128> loads{};    ///< the loads of rank 0, then those of rank 1, …; in units of 2^exponent
    std::size_t loads_per_rank = 1;  ///< number of loads of each rank, such as 2 for vision and language
    int exponent = 0;                ///< the unit of `loads` is 2^exponent; this exponent is 0 if costs are integers
    /// True if `partition` has shown that the largest load cannot be made smaller: the load equals a lower bound, or
    /// all assignments were tried. Always false if samples have several loads.
    bool is_optimum = false;

    [[nodiscard]] std::size_t ranks() const { return boundaries.empty() ? 0 : boundaries.size() - 1; }
    [[nodiscard]] std::span<const std::uint32_t> samples_of(std::size_t rank) const {
        return {samples.data() + boundaries.at(rank), boundaries.at(rank + 1) - boundaries.at(rank)};
    }

    [[nodiscard]] friend bool operator==(const assignment&, const assignment&) = default;
};

namespace detail {

[[nodiscard]] inline std::uint32_t checked_ranks(std::uint64_t ranks) {
    if (ranks == 0 || ranks > std::numeric_limits<std::int32_t>::max()) {
        refuse("ranks", {"must be from 1 to 2147483647, got ", ranks});
    }
    return static_cast<std::uint32_t>(ranks);
}

[[nodiscard]] inline assignment assign(const whole_costs& costs, std::size_t loads, std::vector<std::uint32_t> rank_of,
                                       std::uint64_t rank_count) {
    const std::size_t ranks = checked_ranks(rank_count);
    const std::size_t count = samples_of(costs.values.size(), loads);
    if (rank_of.size() != count || count > std::numeric_limits<std::uint32_t>::max()) {
        refuse("rank_of", {"must have one rank for each of the ", count, " samples, got ", rank_of.size()});
    }
    assignment result{.rank_of = std::move(rank_of),
                      .samples = std::vector<std::uint32_t>(count),
                      .boundaries = std::vector<std::size_t>(ranks + 1),
                      .loads = std::vector<uint128>(ranks * loads),
                      .loads_per_rank = loads,
                      .exponent = costs.exponent};
    for (std::size_t sample = 0; sample < count; ++sample) {
        const std::uint32_t rank = result.rank_of[sample];
        if (rank >= ranks) {
            refuse(indexed("rank_of", sample), {"must be below the ", ranks, " ranks, got ", rank});
        }
        ++result.boundaries[rank + 1];
        for (std::size_t load = 0; load < loads; ++load) {
            uint128& sum = result.loads[rank * loads + load];
            sum = (flops{sum} + flops{costs.values[sample * loads + load]}).value();
        }
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        result.boundaries[rank + 1] += result.boundaries[rank];
    }
    std::vector<std::size_t> next = result.boundaries;
    for (std::size_t sample = 0; sample < count; ++sample) {
        result.samples[next[result.rank_of[sample]]++] = static_cast<std::uint32_t>(sample);
    }
    return result;
}

/// Returns the rank of each sample when the samples, in their order, are cut into `ranks` pieces of as equal size as
/// possible.
[[nodiscard]] inline std::vector<std::uint32_t> contiguous_ranks(std::size_t samples, std::uint32_t ranks) {
    std::vector<std::uint32_t> rank_of(samples);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const auto end = static_cast<std::size_t>(uint128{samples} * (rank + 1) / ranks);
        for (auto sample = static_cast<std::size_t>(uint128{samples} * rank / ranks); sample < end; ++sample) {
            rank_of[sample] = rank;
        }
    }
    return rank_of;
}

}  // namespace detail

/// Returns the assignment that places sample i on rank `rank_of[i]`, with the loads of each rank. `costs` has `loads`
/// adjacent numbers for each sample.
template <cost_range Costs>
[[nodiscard]] assignment assigned(const Costs& costs, const std::vector<std::uint32_t>& rank_of, std::uint64_t ranks,
                                  std::size_t loads = 1) {
    return detail::assign(detail::whole_costs_of(std::span<const detail::cost_of_range<Costs>>(costs)), loads, rank_of,
                          ranks);
}

/// Returns the assignment before balancing: it cuts the samples, in their order, into one piece for each rank. Any two
/// ranks differ by at most one sample.
template <cost_range Costs>
[[nodiscard]] assignment contiguous(const Costs& costs, std::uint64_t ranks, std::size_t loads = 1) {
    const std::size_t samples = detail::samples_of(std::span{costs}.size(), loads);
    return assigned(costs, detail::contiguous_ranks(samples, detail::checked_ranks(ranks)), ranks, loads);
}

}  // namespace floptally
