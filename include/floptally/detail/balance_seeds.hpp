// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <floptally/detail/balance_items.hpp>

namespace floptally::detail {

/// The rank of each item; nothing where a search found no room for one.
using rank_list = std::optional<std::vector<std::uint32_t>>;

/// The rank with room where an item leaves the smallest peak; of equal ones the first. `ranks` where none has room.
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
            const Load own = sums[rank * items.loads + load];
            peak = std::max<Load>(peak, own + items.of(item)[load]);
            sum += own;
        }
        if (best == items.ranks || peak < best_peak || (peak == best_peak && sum < best_sum)) {
            best = rank;
            best_peak = peak;
            best_sum = sum;
        }
    }
    return best;
}

/// Longest first (LPT): each item, the costliest first, to the rank with the least load that has room for it.
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
                sums[rank * items.loads + load] += items.of(item)[load];
            }
        }
        return rank_of;
    }
    // The same by a heap of ranks; a full one never comes back.
    std::vector<std::pair<Load, std::uint32_t>> open;
    for (std::uint32_t rank = 0; rank < items.ranks; ++rank) {
        open.emplace_back(0, rank);
    }
    const auto heavier = [](const auto& a, const auto& b) { return b < a; };
    for (std::size_t item = 0; item < items.count(); ++item) {
        std::pop_heap(open.begin(), open.end(), heavier);
        const std::uint32_t rank = open.back().second;
        rank_of[item] = rank;
        open.back().first += items.costs[item];
        if (items.is_limited() && --room[rank] == 0) {
            open.pop_back();
        } else {
            std::push_heap(open.begin(), open.end(), heavier);
        }
    }
    return rank_of;
}

/// An assignment that knows no capacity, made to fit: what finds no room beside costlier items goes
/// where there is some.
template <class Load>
[[nodiscard]] rank_list made_to_fit(const balance_items<Load>& items, std::vector<std::uint32_t> rank_of) {
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
            sums[rank * items.loads + load] += items.of(item)[load];
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
            sums[rank * items.loads + load] += items.of(item)[load];
        }
    }
    return rank_of;
}

}  // namespace floptally::detail
