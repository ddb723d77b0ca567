// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <floptally/balance/detail/complete_search.hpp>
#include <floptally/balance/detail/differencing.hpp>
#include <floptally/balance/detail/items.hpp>
#include <floptally/balance/detail/seeds.hpp>
#include <floptally/balance/detail/swaps.hpp>
#include <floptally/integer/checked.hpp>

namespace floptally::detail {

/// The seeds that a search starts from, and its limits.
struct search_plan {
    bool longest_first = true;
    bool differencing = true;
    std::uint64_t budget = 0;    ///< 0: seeds are not refined
    std::uint64_t fineness = 0;  ///< exchanges end within 1 ÷ it of the lower bound; 0: at the bound
};

/// A search over assignments of items for the smallest peak; of equal ones the first is kept.
template <class Load>
class balance_search {
  public:
    balance_search(const balance_items<Load>& items, const search_plan& how)
        : items_(items), how_(how), bound_(items.lower_bound()) {}

    /// The best assignment found, which is `start` where that fits and none is better.
    [[nodiscard]] rank_list run(const rank_list& start) {
        if (start && items_.fits(*start)) {
            add(start);
        }
        if (how_.longest_first && !is_optimum()) {
            add(longest_first(items_));
        }
        if (how_.differencing && !is_optimum()) {
            std::vector<std::uint32_t> found = differencing(items_).ranks();
            add(items_.fits(found) ? std::move(found) : made_to_fit(items_, std::move(found)));
        }
        if (!best_) {
            add(by_size());
        }
        if (how_.budget > 0 && !is_optimum()) {
            refine();
        }
        return best_;
    }

    /// True where it is known that no assignment has a smaller peak.
    [[nodiscard]] bool is_optimum() const { return best_ && (searched_all_ || peak_ <= bound_); }

  private:
    struct candidate {
        std::vector<std::uint32_t> rank_of;
        Load peak;
    };

    /// An assignment for scarce room: sizes are balanced as if they were costs, which fits where their peak does.
    [[nodiscard]] rank_list by_size() const {
        std::vector<std::size_t> order(items_.count());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
            return items_.sizes[a] != items_.sizes[b] ? items_.sizes[a] > items_.sizes[b] : a < b;
        });
        balance_items<uint128> sizes{.ranks = items_.ranks, .sizes = std::vector<std::uint64_t>(order.size(), 1)};
        for (const std::size_t item : order) {
            sizes.costs.push_back(items_.sizes[item]);
            sizes.numbers.push_back(items_.numbers[item]);
        }
        // The seeds and the budget of the caller are for costs, not for sizes.
        const search_plan both{.budget = std::max<std::uint64_t>(how_.budget, 65536)};
        const rank_list balanced = balance_search<uint128>(sizes, both).run(std::nullopt);
        std::vector<std::uint32_t> rank_of(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            rank_of[order[i]] = (*balanced)[i];
        }
        return items_.fits(rank_of) ? rank_list(std::move(rank_of)) : std::nullopt;
    }

    void add(rank_list found) {
        if (found) {
            const Load peak = items_.peak_of(*found);
            keep(*found, peak);
            seeds_.push_back({std::move(*found), peak});
        }
    }

    void keep(const std::vector<std::uint32_t>& rank_of, Load peak) {
        if (!best_ || peak < peak_) {
            best_ = rank_of;
            peak_ = peak;
        }
    }

    /// Refines the seeds, the best first: where it comes near the lower bound, the others have little to add. Few items
    /// are searched to the optimum.
    void refine() {
        std::stable_sort(seeds_.begin(), seeds_.end(),
                         [](const candidate& a, const candidate& b) { return a.peak < b.peak; });
        const Load enough = bound_ + (how_.fineness == 0 ? 0 : static_cast<Load>(bound_ / how_.fineness));
        for (candidate& seed : seeds_) {
            if (peak_ <= enough) {
                break;
            }
            balance_swaps<Load> swaps(items_, std::move(seed.rank_of), enough, how_.budget);
            swaps.run();
            keep(swaps.rank_of(), swaps.peak());
        }
        if (items_.count() <= complete_search<Load>::most_items && how_.longest_first && how_.differencing) {
            complete_search<Load> all(items_, std::move(best_), bound_, how_.budget);
            best_ = all.run();
            peak_ = best_ ? items_.peak_of(*best_) : 0;
            searched_all_ = all.is_optimum();
        }
    }

    const balance_items<Load>& items_;
    search_plan how_;
    std::vector<candidate> seeds_;
    Load bound_;
    rank_list best_;
    Load peak_ = 0;
    bool searched_all_ = false;
};

}  // namespace floptally::detail
