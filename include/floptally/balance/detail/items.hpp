// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <floptally/integer/checked.hpp>

namespace floptally::inline v0_3::detail {

inline constexpr std::uint64_t no_capacity = std::numeric_limits<std::uint64_t>::max();

/// The items that are assigned to ranks. An item is a single sample, or several samples that must stay together. Items
/// are sorted by descending cost; equal items keep the order of their samples. The search compares integers only and
/// breaks ties by this order, so that every rank and every compiler gets the same result.
///
/// `Load` is the integer type of a cost. It must hold twice the sum of all costs.
template <class Load>
struct balance_items {
    std::uint32_t ranks = 1;
    std::size_t loads = 1;               ///< number of costs of each item
    std::vector<Load> costs{};           ///< the costs of item 0, then those of item 1, …
    std::vector<std::uint64_t> sizes{};  ///< capacity that each item uses on a rank: the number of its samples; in mode
                                         ///< `capacity` the sum of their sizes
    std::uint64_t capacity = no_capacity;
    std::vector<std::uint32_t> numbers{};  ///< index that each item had before the items were sorted by cost

    [[nodiscard]] std::size_t count() const { return sizes.size(); }
    [[nodiscard]] std::span<const Load> costs_of(std::size_t item) const {
        return {costs.data() + item * loads, loads};
    }
    [[nodiscard]] bool is_limited() const { return capacity != no_capacity; }

    /// Returns true if every rank must have the same number of items: every item has size 1, and all ranks must be
    /// full. Then an item can leave a rank only in exchange for another.
    [[nodiscard]] bool has_equal_counts() const {
        return is_limited() && count() == uint128{ranks} * capacity &&
               std::all_of(sizes.begin(), sizes.end(), [](std::uint64_t size) { return size == 1; });
    }

    /// Returns the loads of every rank in one list: those of rank 0, then those of rank 1, …
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

    /// Returns the peak: the largest load of any rank. The search looks for an assignment with a small peak.
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

    /// Returns a lower bound of the peak: no assignment has a smaller largest load. It is the largest of up to three
    /// bounds. The first is the mean load of the ranks, rounded up. The second is the cost of the costliest item. The
    /// third is `bound_of_filled_ranks`, for one load and equally many items on every rank.
    [[nodiscard]] Load lower_bound() const {
        Load bound = 0;
        for (std::size_t load = 0; load < loads; ++load) {
            Load sum = 0;
            Load costliest = 0;
            for (std::size_t item = 0; item < count(); ++item) {
                sum += costs_of(item)[load];
                costliest = std::max(costliest, costs_of(item)[load]);
            }
            bound = std::max({bound, costliest, static_cast<Load>((sum + ranks - 1) / ranks)});
        }
        return loads == 1 && count() != 0 && has_equal_counts() ? std::max(bound, bound_of_filled_ranks()) : bound;
    }

  private:
    /// Returns a lower bound of the largest load if every rank has n items. The j costliest items are on at most j
    /// ranks. If they are on j ranks, these ranks hold j(n − 1) more items. These cost at least as much as the j(n − 1)
    /// cheapest items. So one of these ranks has at least the load (sum of the j costliest and the j(n − 1) cheapest
    /// items) ÷ j. The result is the largest of these loads over all j.
    ///
    /// The bound also holds if the j costliest items are on fewer than j ranks. These ranks then hold fewer of the
    /// cheapest items. The average load of these ranks can be below the result only if the missing cheapest items cost
    /// more than that average. Then all other items cost at least as much, so the mean over all ranks is a larger
    /// bound. `lower_bound` includes that mean.
    [[nodiscard]] Load bound_of_filled_ranks() const {
        const std::size_t items_per_rank = count() / ranks;
        std::size_t cheapest = count();  // the items from this index on, the cheapest ones, were added to `sum`
        Load sum = 0;
        Load bound = 0;
        for (std::size_t j = 1; j <= ranks; ++j) {
            sum += costs[j - 1];
            for (const std::size_t last = cheapest - (items_per_rank - 1); cheapest > last; --cheapest) {
                sum += costs[cheapest - 1];
            }
            bound = std::max(bound, static_cast<Load>((sum + j - 1) / j));
        }
        return bound;
    }
};

}  // namespace floptally::detail
