// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <floptally/integer/checked.hpp>

namespace floptally::detail {

inline constexpr std::uint64_t no_capacity = std::numeric_limits<std::uint64_t>::max();

/// The items that are assigned to ranks: samples, or tied samples as one. The costliest comes first, of equal ones the
/// earliest. Integers and this order alone decide, so that every rank and every compiler decides alike.
///
/// `Load` can hold twice the sum of all costs.
template <class Load>
struct balance_items {
    std::uint32_t ranks = 1;
    std::size_t loads = 1;               ///< costs of one item
    std::vector<Load> costs{};           ///< item by item, the loads of an item side by side
    std::vector<std::uint64_t> sizes{};  ///< each item's part of the capacity of a rank
    std::uint64_t capacity = no_capacity;
    std::vector<std::uint32_t> numbers{};  ///< the number of each item in the order of samples

    [[nodiscard]] std::size_t count() const { return sizes.size(); }
    [[nodiscard]] std::span<const Load> costs_of(std::size_t item) const {
        return {costs.data() + item * loads, loads};
    }
    [[nodiscard]] bool is_limited() const { return capacity != no_capacity; }

    /// True where every item has the size 1 and all ranks must be full, so that an item leaves a rank only for another.
    [[nodiscard]] bool has_equal_counts() const {
        return is_limited() && count() == uint128{ranks} * capacity &&
               std::all_of(sizes.begin(), sizes.end(), [](std::uint64_t size) { return size == 1; });
    }

    /// The loads of every rank, those of a rank side by side.
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

    /// The largest load of any rank, which a balance makes small.
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

    /// A bound below which no peak can be: the mean, rounded up; the costliest item; with equal counts (and one load)
    /// the average of the ranks that hold the costliest items, filled up with the cheapest ones.
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
    /// The j costliest items are on at most j ranks, and these are filled up with other items, which cost at least as
    /// much as the cheapest ones: some rank has Σ ÷ j or more, for every j. If they are on fewer than j ranks, a rank
    /// of the costliest filling items is missing for each, and the average stays as large unless such a rank costs more
    /// than it. Then so do the ranks beyond the j, whose items cost no less, and the mean of all ranks is larger still.
    [[nodiscard]] Load bound_of_filled_ranks() const {
        const std::size_t each = count() / ranks;
        std::size_t cheapest = count();  // the items from here on fill up ranks
        Load sum = 0;
        Load bound = 0;
        for (std::size_t j = 1; j <= ranks; ++j) {
            sum += costs[j - 1];
            for (const std::size_t last = cheapest - (each - 1); cheapest > last; --cheapest) {
                sum += costs[cheapest - 1];
            }
            bound = std::max(bound, static_cast<Load>((sum + j - 1) / j));
        }
        return bound;
    }
};

}  // namespace floptally::detail
