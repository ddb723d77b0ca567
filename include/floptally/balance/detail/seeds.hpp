// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <floptally/balance/detail/items.hpp>

namespace floptally::inline v0_3::detail {

/// The rank of each item. Empty if a search found no rank with room for an item.
using rank_list = std::optional<std::vector<std::uint32_t>>;

/// Chooses a rank with room for an item. With the item, its largest load is the smallest of all these ranks. Returns
/// the first such rank, or the number of ranks if none has room.
template <class Load>
[[nodiscard]] std::uint32_t lightest_rank(const balance_items<Load>& items, std::size_t item,
                                          const std::vector<Load>& sums, const std::vector<std::uint64_t>& room) {
    std::uint32_t best = items.ranks;
    Load best_peak = 0;
    Load best_sum = 0;
    for (std::uint32_t rank = 0; rank < items.ranks; ++rank) {
        if (items.sizes[item] > room[rank]) {
            continue;
        }
        Load peak = 0;
        Load sum = 0;
        for (std::size_t load = 0; load < items.loads; ++load) {
            const Load rank_load = sums[rank * items.loads + load];
            peak = std::max<Load>(peak, rank_load + items.costs_of(item)[load]);
            sum += rank_load;
        }
        if (best == items.ranks || peak < best_peak || (peak == best_peak && sum < best_sum)) {
            best = rank;
            best_peak = peak;
            best_sum = sum;
        }
    }
    return best;
}

/// Returns the longest-first assignment (LPT). Each item, the costliest first, goes to the rank with the least load
/// among those that have room.
template <class Load>
[[nodiscard]] rank_list longest_first(const balance_items<Load>& items) {
    std::vector<std::uint32_t> rank_of(items.count());
    std::vector<std::uint64_t> room(items.ranks, items.capacity);
    if (items.loads > 1 || (items.is_limited() && !items.has_equal_counts())) {
        std::vector<Load> sums(items.ranks * items.loads);
        for (std::size_t item = 0; item < items.count(); ++item) {
            const std::uint32_t rank = lightest_rank(items, item, sums, room);
            if (rank == items.ranks) {
                return std::nullopt;
            }
            rank_of[item] = rank;
            room[rank] -= items.is_limited() ? items.sizes[item] : 0;
            for (std::size_t load = 0; load < items.loads; ++load) {
                sums[rank * items.loads + load] += items.costs_of(item)[load];
            }
        }
        return rank_of;
    }
    constexpr std::uint32_t few = 16;
    if (items.ranks <= few) {  // For few ranks, a loop over all ranks is faster than a heap. A heap's branches are
                               // often mispredicted.
        std::array<Load, few> sums{};
        for (std::size_t item = 0; item < items.count(); ++item) {
            std::uint32_t lightest = 0;
            for (std::uint32_t rank = 1; rank < items.ranks; ++rank) {
                lightest = sums[rank] < sums[lightest] ? rank : lightest;
            }
            rank_of[item] = lightest;
            const bool is_full = items.is_limited() && --room[lightest] == 0;
            sums[lightest] = is_full ? std::numeric_limits<Load>::max() : sums[lightest] + items.costs[item];
        }
        return rank_of;
    }
    // For many ranks a heap finds the rank with the least load, and among equal ranks the first. A rank that is full
    // leaves the heap.
    std::vector<std::pair<Load, std::uint32_t>> open(items.ranks);
    for (std::uint32_t rank = 0; rank < items.ranks; ++rank) {
        open[rank].second = rank;
    }
    for (std::size_t item = 0; item < items.count(); ++item) {
        auto moved = open.front();
        rank_of[item] = moved.second;
        moved.first += items.costs[item];
        if (items.is_limited() && --room[moved.second] == 0) {
            moved = open.back();
            open.pop_back();
        }
        std::size_t hole = 0;
        for (std::size_t child = 1; child < open.size(); child = 2 * hole + 1) {
            child += child + 1 < open.size() && open[child + 1] < open[child] ? 1U : 0U;
            if (!(open[child] < moved)) {
                break;
            }
            open[hole] = open[child];
            hole = child;
        }
        if (!open.empty()) {
            open[hole] = moved;
        }
    }
    return rank_of;
}

/// Changes an assignment that ignores the capacity so that it fits. On each rank the costliest items that fit stay. The
/// other items move to ranks with free capacity.
template <class Load>
[[nodiscard]] rank_list fit_to_capacity(const balance_items<Load>& items, std::vector<std::uint32_t> rank_of) {
    std::vector<std::uint64_t> room(items.ranks, items.capacity);
    std::vector<Load> sums(items.ranks * items.loads);
    std::vector<std::size_t> left_over;
    for (std::size_t item = 0; item < items.count(); ++item) {
        const std::uint32_t rank = rank_of[item];
        if (items.sizes[item] > room[rank]) {
            left_over.push_back(item);
            continue;
        }
        room[rank] -= items.sizes[item];
        for (std::size_t load = 0; load < items.loads; ++load) {
            sums[rank * items.loads + load] += items.costs_of(item)[load];
        }
    }
    for (const std::size_t item : left_over) {
        const std::uint32_t rank = lightest_rank(items, item, sums, room);
        if (rank == items.ranks) {
            return std::nullopt;
        }
        rank_of[item] = rank;
        room[rank] -= items.sizes[item];
        for (std::size_t load = 0; load < items.loads; ++load) {
            sums[rank * items.loads + load] += items.costs_of(item)[load];
        }
    }
    return rank_of;
}

}  // namespace floptally::detail
