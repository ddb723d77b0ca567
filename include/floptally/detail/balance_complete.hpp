// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <floptally/detail/balance_items.hpp>
#include <floptally/detail/balance_seeds.hpp>

namespace floptally::detail {

/// Every assignment of few items, by branch and bound: item by item to each rank, but never to two that are alike, and
/// never where a rank would reach the best peak known. The optimum, unless `budget` nodes end it.
template <class Load>
class complete_search {
  public:
    static constexpr std::size_t most_items = 16;

    /// `known` has the peak to fall below; nothing where no assignment is known.
    complete_search(const balance_items<Load>& items, rank_list known, std::uint64_t budget)
        : items_(items),
          best_(std::move(known)),
          budget_(budget),
          bound_(items.lower_bound()),
          peak_(best_ ? items.peak_of(*best_) : 0),
          rank_of_(items.count()),
          sums_(items.ranks * items.loads),
          room_(items.ranks, items.capacity) {}

    [[nodiscard]] rank_list run() {
        if (items_.count() <= most_items) {
            place(0, 0);
        }
        return best_;
    }

  private:
    /// `peak` is that of the items before.
    void place(std::size_t item, Load peak) {
        if (item == items_.count()) {
            best_ = rank_of_;
            peak_ = peak;
            return;
        }
        // Of ranks that are still empty only the first is tried: at most one of each item before is not.
        const auto ranks = static_cast<std::uint32_t>(std::min<std::size_t>(items_.ranks, item + 1));
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            if (budget_ == 0 || (best_ && peak_ <= bound_)) {
                return;
            }
            if (items_.sizes[item] > room_[rank] || is_like_an_earlier(rank)) {
                continue;
            }
            --budget_;
            const Load after = add(item, rank);
            if (!best_ || after < peak_) {
                rank_of_[item] = rank;
                place(item + 1, std::max(peak, after));
            }
            remove(item, rank);
        }
    }

    [[nodiscard]] bool is_like_an_earlier(std::uint32_t rank) const {
        const Load* own = sums_.data() + rank * items_.loads;
        for (std::uint32_t other = 0; other < rank; ++other) {
            if (room_[other] == room_[rank] &&
                std::equal(own, own + items_.loads, sums_.data() + other * items_.loads)) {
                return true;
            }
        }
        return false;
    }

    /// The peak of the rank afterwards.
    Load add(std::size_t item, std::uint32_t rank) {
        room_[rank] -= items_.is_limited() ? items_.sizes[item] : 0;
        Load peak = 0;
        for (std::size_t load = 0; load < items_.loads; ++load) {
            Load& own = sums_[rank * items_.loads + load];
            own += items_.of(item)[load];
            peak = std::max(peak, own);
        }
        return peak;
    }

    void remove(std::size_t item, std::uint32_t rank) {
        room_[rank] += items_.is_limited() ? items_.sizes[item] : 0;
        for (std::size_t load = 0; load < items_.loads; ++load) {
            sums_[rank * items_.loads + load] -= items_.of(item)[load];
        }
    }

    const balance_items<Load>& items_;
    rank_list best_;
    std::uint64_t budget_;
    Load bound_;
    Load peak_;
    std::vector<std::uint32_t> rank_of_;
    std::vector<Load> sums_;
    std::vector<std::uint64_t> room_;
};

}  // namespace floptally::detail
