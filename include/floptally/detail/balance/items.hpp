// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <floptally/detail/checked.hpp>

namespace floptally::detail {

inline constexpr std::uint64_t no_capacity = std::numeric_limits<std::uint64_t>::max();

/// What is assigned to ranks: samples, or tied samples as one, the costliest first and the earliest of equal ones. All
/// that decides is an integer and that order, so that every rank and every compiler decides alike.
///
/// `Load` holds twice the sum of all costs.
template <class Load>
struct balance_items {
    std::uint32_t ranks = 1;
    std::size_t loads = 1;               ///< costs of one item
    std::vector<Load> costs{};           ///< item by item, the loads of one together
    std::vector<std::uint64_t> sizes{};  ///< what an item takes of the capacity of a rank
    std::uint64_t capacity = no_capacity;
    std::vector<std::uint32_t> numbers{};  ///< of each item, in the order of the samples

    [[nodiscard]] std::size_t count() const { return sizes.size(); }
    [[nodiscard]] std::span<const Load> of(std::size_t item) const { return {costs.data() + item * loads, loads}; }
    [[nodiscard]] bool is_limited() const { return capacity != no_capacity; }

    /// Every item takes 1 and every rank is to be full: an item leaves a rank only for another one.
    [[nodiscard]] bool has_equal_counts() const {
        return is_limited() && count() == uint128{ranks} * capacity &&
               std::all_of(sizes.begin(), sizes.end(), [](std::uint64_t size) { return size == 1; });
    }

    /// Of every rank, the loads of one together.
    [[nodiscard]] std::vector<Load> loads_of(std::span<const std::uint32_t> rank_of) const {
        std::vector<Load> sums(ranks * loads);
        for (std::size_t item = 0; loads == 1 && item < count(); ++item) {
            sums[rank_of[item]] += costs[item];
        }
        for (std::size_t item = 0; loads != 1 && item < count(); ++item) {
            for (std::size_t load = 0; load < loads; ++load) {
                sums[rank_of[item] * loads + load] += costs[item * loads + load];
            }
        }
        return sums;
    }

    /// The largest load of any rank: what a balanced assignment has small.
    [[nodiscard]] Load peak_of(std::span<const std::uint32_t> rank_of) const {
        const std::vector<Load> sums = loads_of(rank_of);
        return *std::max_element(sums.begin(), sums.end());
    }

    [[nodiscard]] bool fits(std::span<const std::uint32_t> rank_of) const {
        if (!is_limited()) {
            return true;
        }
        std::vector<std::uint64_t> room(ranks, capacity);
        for (std::size_t item = 0; item < count(); ++item) {
            if (sizes[item] > room[rank_of[item]]) {
                return false;
            }
            room[rank_of[item]] -= sizes[item];
        }
        return true;
    }

    /// No assignment has a smaller peak: the mean, rounded up; the costliest item; with equal counts (and one load)
    /// what the costliest items have with the cheapest ones that their ranks must take too, on average.
    [[nodiscard]] Load lower_bound() const {
        Load bound = 0;
        for (std::size_t load = 0; load < loads; ++load) {
            Load sum = 0;
            Load costliest = 0;
            for (std::size_t item = 0; item < count(); ++item) {
                sum += of(item)[load];
                costliest = std::max(costliest, of(item)[load]);
            }
            bound = std::max({bound, costliest, static_cast<Load>((sum + ranks - 1) / ranks)});
        }
        return loads == 1 && count() != 0 && has_equal_counts() ? std::max(bound, least_with_company()) : bound;
    }

  private:
    /// The j costliest items stand on j ranks or fewer, and these are filled up with others, which cost the cheapest at
    /// least: Σ ÷ j, for every j. On fewer ranks than j they would leave out the costliest of that company, one rank of
    /// it at a time, so that their average is no smaller where each such rank costs no more than the average. Where one
    /// does, that j says nothing; j = 1 always does.
    [[nodiscard]] Load least_with_company() const {
        const std::size_t each = count() / ranks;
        std::size_t cheapest = count();  // from here on they are company
        Load sum = 0;
        Load bound = 0;
        for (std::size_t j = 1; j <= ranks; ++j) {
            sum += costs[j - 1];
            Load rank = 0;
            for (const std::size_t last = cheapest - (each - 1); cheapest > last; --cheapest) {
                sum += costs[cheapest - 1];
                rank += costs[cheapest - 1];
            }
            const Load average = (sum + j - 1) / j;
            // A rank of `each` such items, one more than were added, costs at most:
            rank += cheapest < count() ? costs[cheapest] : 0;
            if (j == 1 || rank <= sum / j) {
                bound = std::max(bound, average);
            }
        }
        return bound;
    }
};

}  // namespace floptally::detail
