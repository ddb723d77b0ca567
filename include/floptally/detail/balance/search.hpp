// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <floptally/detail/balance/complete_search.hpp>
#include <floptally/detail/balance/differencing.hpp>
#include <floptally/detail/balance/items.hpp>
#include <floptally/detail/balance/seeds.hpp>
#include <floptally/detail/balance/swaps.hpp>
#include <floptally/detail/checked.hpp>

namespace floptally::detail {

/// Which seeds a search starts from, and how far it goes.
struct search_plan {
    bool longest_first = true;
    bool differencing = true;
    std::uint64_t budget = 0;  ///< 0: seeds as they are
};

/// Assignments of items, from which the one with the smallest peak is kept: the first of equal ones.
template <class Load>
class balance_search {
  public:
    balance_search(const balance_items<Load>& items, const search_plan& how) : items_(items), how_(how) {}

    /// Better than `given`, or that: where it fits, an assignment that must not become worse.
    [[nodiscard]] rank_list run(const rank_list& given) {
        if (how_.longest_first) {
            add(longest_first(items_));
        }
        if (how_.differencing) {
            std::vector<std::uint32_t> found = differencing(items_).ranks();
            add(items_.fits(found) ? std::move(found) : made_to_fit(items_, std::move(found)));
        }
        if (given && items_.fits(*given)) {
            add(given);
        }
        if (!best_) {
            add(by_size());
        }
        if (how_.budget > 0) {
            refine();
        }
        return best_;
    }

  private:
    struct candidate {
        std::vector<std::uint32_t> rank_of;
        Load peak;
    };

    /// Where room is scarce: sizes balanced as if they were costs, which fits where their peak does.
    [[nodiscard]] rank_list by_size() const {
        std::vector<std::size_t> order(items_.count());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
            return items_.sizes[a] != items_.sizes[b] ? items_.sizes[a] > items_.sizes[b] : a < b;
        });
        balance_items<uint128> sizes{.ranks = items_.ranks, .sizes = std::vector<std::uint64_t>(order.size(), 1)};
        for (const std::size_t item : order) {
            sizes.costs.push_back(items_.sizes[item]);
        }
        // Whatever seeds and budget were asked for: they are for costs.
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

    /// The best seed first: where it comes near the lower bound, the others have little to add.
    void refine() {
        const Load bound = items_.lower_bound();
        std::stable_sort(seeds_.begin(), seeds_.end(),
                         [](const candidate& a, const candidate& b) { return a.peak < b.peak; });
        for (candidate& seed : seeds_) {
            if (best_ && balance_swaps<Load>::is_near(peak_, bound)) {
                return;
            }
            balance_swaps<Load> swaps(items_, std::move(seed.rank_of), how_.budget);
            swaps.run();
            keep(swaps.rank_of(), swaps.peak());
        }
        if (items_.count() <= complete_search<Load>::most_items && how_.longest_first && how_.differencing) {
            best_ = complete_search<Load>(items_, std::move(best_), how_.budget).run();
        }
    }

    const balance_items<Load>& items_;
    search_plan how_;
    std::vector<candidate> seeds_;
    rank_list best_;
    Load peak_ = 0;
};

}  // namespace floptally::detail
