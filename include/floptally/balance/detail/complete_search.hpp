// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <floptally/balance/detail/items.hpp>
#include <floptally/balance/detail/seeds.hpp>
#include <floptally/integer/flops.hpp>

namespace floptally::detail {

/// A search of every assignment of few items that could be better than the known one, rank by rank. A rank takes the
/// costliest item that is left and any others with which it stays below the best peak, but never so few that the ranks
/// after it could not hold the rest below that peak. The result is the optimum unless the budget ends first; each item
/// taken or left is one decision of the budget.
template <class Load>
class complete_search {
  public:
    static constexpr std::size_t most_items = 16;  ///< for which a caller searches: of more there are too many

    /// A search for a peak below that of `known`, which may be empty.
    complete_search(const balance_items<Load>& items, rank_list known, Load bound, std::uint64_t budget)
        : items_(items),
          best_(std::move(known)),
          budget_(budget),
          bound_(bound),
          peak_(best_ ? items.peak_of(*best_) : 0),
          rank_of_(items.count(), items.ranks) {}

    /// The best assignment that was found, or the known one.
    [[nodiscard]] rank_list run() {
        if (!is_done()) {
            fill(0);
        }
        return best_;
    }

    /// True where no assignment has a smaller peak than the result of `run`.
    [[nodiscard]] bool is_optimum() const { return best_ && (peak_ == bound_ || budget_ != 0); }

  private:
    /// The items that a rank may still take, the costliest first, and their sums from each place on.
    struct choice {
        std::vector<std::size_t> items{};
        std::vector<Load> rest{};                ///< sums of costs, place by place
        std::vector<std::uint64_t> rest_size{};  ///< sums of sizes, place by place
        std::uint32_t rank = 0;
    };

    [[nodiscard]] bool is_done() const { return budget_ == 0 || (best_ && peak_ <= bound_); }

    void fill(std::uint32_t rank) {
        choice left{.rank = rank};
        for (std::size_t item = 0; item < items_.count(); ++item) {
            if (rank_of_[item] == items_.ranks) {
                left.items.push_back(item);
            }
        }
        if (left.items.empty()) {
            keep();
            return;
        }
        if (rank == items_.ranks) {
            return;
        }
        const std::size_t count = left.items.size();
        left.rest.resize((count + 1) * items_.loads);
        left.rest_size.resize(count + 1);
        for (std::size_t place = count; place-- > 0;) {
            for (std::size_t load = 0; load < items_.loads; ++load) {
                left.rest[place * items_.loads + load] =
                    left.rest[(place + 1) * items_.loads + load] + items_.costs_of(left.items[place])[load];
            }
            left.rest_size[place] = left.rest_size[place + 1] + items_.sizes[left.items[place]];
        }
        // Ranks are alike, so the costliest item that is left goes to this one.
        std::vector<Load> sums(items_.loads);
        take(left, 0, sums, 0);
    }

    /// Tries the assignments in which this rank takes the item at `place`.
    void take(const choice& left, std::size_t place, std::vector<Load>& sums, std::uint64_t size) {
        if (is_done()) {
            return;
        }
        --budget_;
        const std::size_t item = left.items[place];
        if (items_.is_limited() && items_.sizes[item] > items_.capacity - size) {
            return;
        }
        bool fits = true;
        for (std::size_t load = 0; load < items_.loads; ++load) {
            sums[load] += items_.costs_of(item)[load];
            fits = fits && (!best_ || sums[load] < peak_);
        }
        if (fits) {
            rank_of_[item] = left.rank;
            next(left, place + 1, sums, size + items_.sizes[item]);
            rank_of_[item] = items_.ranks;
        }
        for (std::size_t load = 0; load < items_.loads; ++load) {
            sums[load] -= items_.costs_of(item)[load];
        }
    }

    /// Tries every choice among the items from `place` on, beside those that the rank has.
    void next(const choice& left, std::size_t place, std::vector<Load>& sums, std::uint64_t size) {
        for (; enough(left, place, sums, size); ++place) {
            if (place == left.items.size()) {
                fill(left.rank + 1);
                return;
            }
            if (!repeats_left_item(left, place)) {
                take(left, place, sums, size);
            }
            if (is_done()) {
                return;
            }
            --budget_;
        }
    }

    /// True where the ranks after this one could hold the items that it leaves, should it take all from `place` on.
    [[nodiscard]] bool enough(const choice& left, std::size_t place, const std::vector<Load>& sums,
                              std::uint64_t size) const {
        const std::uint32_t others = items_.ranks - 1 - left.rank;
        if (items_.is_limited()) {
            const uint128 leaves = uint128{left.rest_size.front()} - size - left.rest_size[place];
            if (leaves > uint128{items_.capacity} * others) {
                return false;
            }
        }
        for (std::size_t load = 0; best_ && load < items_.loads; ++load) {
            const Load leaves = left.rest[load] - sums[load] - left.rest[place * items_.loads + load];
            if (others == 0 ? leaves != 0 : (leaves + others - 1) / others >= peak_) {
                return false;
            }
        }
        return true;
    }

    /// True where the item equals the one before it, which was left: of equal items the earlier ones are taken.
    [[nodiscard]] bool repeats_left_item(const choice& left, std::size_t place) const {
        const std::size_t item = left.items[place];
        const std::size_t before = left.items[place - 1];
        return rank_of_[before] == items_.ranks && items_.sizes[item] == items_.sizes[before] &&
               std::equal(items_.costs_of(item).begin(), items_.costs_of(item).end(), items_.costs_of(before).begin());
    }

    void keep() {
        const Load peak = items_.peak_of(rank_of_);
        if (!best_ || peak < peak_) {
            best_ = rank_of_;
            peak_ = peak;
        }
    }

    const balance_items<Load>& items_;
    rank_list best_;
    std::uint64_t budget_;
    Load bound_;
    Load peak_;
    std::vector<std::uint32_t> rank_of_;  ///< `ranks` marks items that are left
};

}  // namespace floptally::detail
