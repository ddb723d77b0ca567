// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <floptally/balance/detail/items.hpp>
#include <floptally/balance/detail/seeds.hpp>
#include <floptally/balance/detail/swaps.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>

namespace floptally::inline v0_3::detail {

/// Tries, rank by rank, every assignment of few items that could be better than the known one. A rank takes the
/// costliest item that is left, and any other items that keep its load below the best peak (largest load) found so far.
/// It takes so many items that the later ranks can hold the rest below that peak. The result is the optimum unless the
/// budget ends first. Each decision to take or leave an item uses up one unit of the budget.
template <class Load>
class complete_search {
  public:
    /// The largest number of items for which callers use this search. More items have too many assignments.
    static constexpr std::size_t most_items = 16;

    /// Creates a search for an assignment whose largest load is below that of `known`, an assignment that was found
    /// before. `known` may be empty. `bound` is a lower bound of the largest load.
    complete_search(const balance_items<Load>& items, rank_list known, Load bound, std::uint64_t budget)
        : items_(items),
          best_(std::move(known)),
          budget_(budget),
          bound_(bound),
          peak_(best_ ? items.peak_of(*best_) : 0),
          rank_of_(items.count(), items.ranks) {}

    /// Returns the best assignment that was found, or `known` if none is better.
    [[nodiscard]] rank_list run() {
        if (!is_done()) {
            fill(0);
        }
        return best_;
    }

    /// Returns true if the result of `run` is proven to be the best: no assignment has a smaller largest load.
    [[nodiscard]] bool is_optimum() const { return best_ && (peak_ == bound_ || budget_ != 0); }

  private:
    /// The items that a rank may still take, the costliest first, with suffix sums: the sums over all items from a
    /// position on.
    struct remaining_items {
        std::vector<std::size_t> items{};
        std::vector<Load> rest{};                ///< for each position, the sum of the costs of the items from that
                                                 ///< position on
        std::vector<std::uint64_t> rest_size{};  ///< for each position, the sum of the sizes of the items from that
                                                 ///< position on
        std::uint32_t rank = 0;
    };

    [[nodiscard]] bool is_done() const { return budget_ == 0 || (best_ && peak_ <= bound_); }

    void fill(std::uint32_t rank) {
        remaining_items remaining{.rank = rank};
        for (std::size_t item = 0; item < items_.count(); ++item) {
            if (rank_of_[item] == items_.ranks) {
                remaining.items.push_back(item);
            }
        }
        if (remaining.items.empty()) {
            keep();
            return;
        }
        if (rank == items_.ranks) {
            return;
        }
        const std::size_t count = remaining.items.size();
        remaining.rest.resize((count + 1) * items_.loads);
        remaining.rest_size.resize(count + 1);
        for (std::size_t position = count; position-- > 0;) {
            for (std::size_t load = 0; load < items_.loads; ++load) {
                remaining.rest[position * items_.loads + load] = remaining.rest[(position + 1) * items_.loads + load] +
                                                                 items_.costs_of(remaining.items[position])[load];
            }
            remaining.rest_size[position] = remaining.rest_size[position + 1] + items_.sizes[remaining.items[position]];
        }
        // Ranks are interchangeable, so this rank takes the costliest item that is left.
        std::vector<Load> sums(items_.loads);
        take(remaining, 0, sums, 0);
    }

    /// Tries the assignments in which this rank takes the item at `position`.
    void take(const remaining_items& remaining, std::size_t position, std::vector<Load>& sums, std::uint64_t size) {
        if (is_done()) {
            return;
        }
        --budget_;
        const std::size_t item = remaining.items[position];
        if (items_.is_limited() && items_.sizes[item] > items_.capacity - size) {
            return;
        }
        bool fits = true;
        for (std::size_t load = 0; load < items_.loads; ++load) {
            sums[load] += items_.costs_of(item)[load];
            fits = fits && (!best_ || sums[load] < peak_);
        }
        if (fits) {
            rank_of_[item] = remaining.rank;
            next(remaining, position + 1, sums, size + items_.sizes[item]);
            rank_of_[item] = items_.ranks;
        }
        for (std::size_t load = 0; load < items_.loads; ++load) {
            sums[load] -= items_.costs_of(item)[load];
        }
    }

    /// Tries every selection among the items from `position` on, in addition to the items that the rank has.
    void next(const remaining_items& remaining, std::size_t position, std::vector<Load>& sums, std::uint64_t size) {
        for (; enough(remaining, position, sums, size); ++position) {
            if (position == remaining.items.size()) {
                fill(remaining.rank + 1);
                return;
            }
            if (!repeats_left_item(remaining, position)) {
                take(remaining, position, sums, size);
            }
            if (is_done()) {
                return;
            }
            --budget_;
        }
    }

    /// Returns true if this rank can still leave few enough items. Assumes that it takes all items from `position` on.
    /// The later ranks must then be able to hold the other items.
    [[nodiscard]] bool enough(const remaining_items& remaining, std::size_t position, const std::vector<Load>& sums,
                              std::uint64_t size) const {
        const std::uint32_t others = items_.ranks - 1 - remaining.rank;
        if (items_.is_limited()) {
            const uint128 leaves = uint128{remaining.rest_size.front()} - size - remaining.rest_size[position];
            if (leaves > uint128{items_.capacity} * others) {
                return false;
            }
        }
        for (std::size_t load = 0; best_ && load < items_.loads; ++load) {
            const Load leaves = remaining.rest[load] - sums[load] - remaining.rest[position * items_.loads + load];
            if (others == 0 ? leaves != 0 : (leaves + others - 1) / others >= peak_) {
                return false;
            }
        }
        return true;
    }

    /// Returns true if the item equals the previous item, and the previous item was left for other ranks. Of equal
    /// items the search takes the earlier ones first, so that it tries no assignment twice.
    [[nodiscard]] bool repeats_left_item(const remaining_items& remaining, std::size_t position) const {
        const std::size_t item = remaining.items[position];
        const std::size_t before = remaining.items[position - 1];
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
    std::vector<std::uint32_t> rank_of_;  ///< rank of each item; equal to the number of ranks if no rank has taken the
                                          ///< item yet
};

/// Karmarkar and Karp's differencing for any number of ranks. A partial assignment is a list of subsets of items, one
/// for each rank. Which rank gets which subset is not yet decided. Each step merges the two partial assignments with
/// the largest difference between their largest and smallest subset. The merge joins the largest subset of one with the
/// smallest of the other. The method ends when a single partial assignment is left.
///
/// If all ranks must have equally many items, a partial assignment has one item for each rank at the start. Then every
/// merge keeps the counts equal (balanced differencing). Otherwise a partial assignment has one single item at the
/// start.
///
/// Differencing decides ties as the balancers of training frameworks do (verl, recsys-examples), so that it gives the
/// same result. A search that starts from this result never returns a worse one. Of two subsets with equal sums, the
/// one with more items counts as larger. With equally many items, the one whose first item has the larger number counts
/// as larger. Of two partial assignments with equal differences, the one with the larger first subset comes first. An
/// item with several loads counts with their sum.
template <class Load>
class differencing {
  public:
    explicit differencing(const balance_items<Load>& items)
        : items_(items), next_(items.count(), none), order_(items.count()) {
        // Sorts items by descending cost, and equal costs by descending item number.
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        for (std::size_t first = 0, last = 0; first < order_.size(); first = last) {
            const Load cost = sum_of(order_[first]);
            for (last = first + 1; last < order_.size() && sum_of(order_[last]) == cost;) {
                ++last;
            }
            std::reverse(order_.begin() + static_cast<std::ptrdiff_t>(first),
                         order_.begin() + static_cast<std::ptrdiff_t>(last));
        }
    }

    [[nodiscard]] std::vector<std::uint32_t> ranks() {
        const bool in_runs = items_.has_equal_counts();
        // Partial assignments of a single item are taken by descending cost. So the next one always has the largest
        // difference, and no heap is needed. Partial assignments of one item for each rank have no such order, so they
        // are all put on the heap at once.
        std::size_t taken = 0;
        if (in_runs) {
            heap_.reserve(items_.count() / items_.ranks + 1);
            while (taken < items_.count()) {
                partial run;
                run.subsets.reserve(items_.ranks);
                for (std::size_t i = 0; i < items_.ranks; ++i) {
                    run.subsets.push_back(alone(order_[taken++]));
                }
                push(std::move(run));
            }
        }
        const auto take = [&] {
            if (taken < items_.count()) {
                partial single{{alone(order_[taken])}};
                single.difference = single.subsets.front().sum;
                if (heap_.empty() || comes_later(heap_.front(), single)) {
                    ++taken;
                    return single;
                }
            }
            return pop();
        };
        while (items_.count() - taken + heap_.size() > 1) {
            partial larger = take();
            push(merged(std::move(larger), take()));
        }
        std::vector<std::uint32_t> rank_of(items_.count());
        if (items_.count() != 0) {
            const partial all = take();
            for (std::size_t rank = 0; rank < all.subsets.size(); ++rank) {
                for (std::uint32_t item = all.subsets[rank].head; item != none; item = next_[item]) {
                    rank_of[item] = static_cast<std::uint32_t>(rank);
                }
            }
        }
        return rank_of;
    }

  private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    /// The items that one rank will get, as a linked list in `next_`, in any order.
    struct subset {
        Load sum;
        std::uint32_t count;
        std::uint32_t first;  ///< number of the subset's first item
        std::uint32_t head;
        std::uint32_t tail;

        [[nodiscard]] bool larger_than(const subset& other) const {
            if (sum != other.sum) {
                return sum > other.sum;
            }
            return count != other.count ? count > other.count : first > other.first;
        }
    };

    /// A partial assignment: its subsets from the largest to the smallest, without the empty ones.
    struct partial {
        std::vector<subset> subsets{};
        Load difference = 0;
    };

    [[nodiscard]] Load sum_of(std::size_t item) const {
        if (items_.loads == 1) {
            return items_.costs[item];
        }
        Load sum = 0;
        for (const Load load : items_.costs_of(item)) {
            sum += load;
        }
        return sum;
    }

    [[nodiscard]] subset alone(std::uint32_t item) const { return {sum_of(item), 1, items_.numbers[item], item, item}; }

    [[nodiscard]] static bool comes_later(const partial& a, const partial& b) {
        return a.difference != b.difference ? a.difference < b.difference
                                            : b.subsets.front().larger_than(a.subsets.front());
    }

    void push(partial entry) {
        const bool all_filled = entry.subsets.size() == items_.ranks;
        entry.difference = entry.subsets.front().sum - (all_filled ? entry.subsets.back().sum : 0);
        heap_.push_back(std::move(entry));
        std::push_heap(heap_.begin(), heap_.end(), comes_later);
    }

    [[nodiscard]] partial pop() {
        std::pop_heap(heap_.begin(), heap_.end(), comes_later);
        partial first = std::move(heap_.back());
        heap_.pop_back();
        return first;
    }

    /// Returns the merge of two partial assignments. The largest subset of `b` joins the smallest subset of `a`, the
    /// next largest joins the next smallest, and so on. Empty subsets count as the smallest.
    [[nodiscard]] partial merged(partial a, partial b) {
        const bool swapped = a.subsets.size() < b.subsets.size();
        if (swapped) {
            std::swap(a, b);
        }
        const std::size_t filled = a.subsets.size();
        const std::size_t apart = std::min(b.subsets.size(), items_.ranks - filled);
        for (std::size_t i = apart; i < b.subsets.size(); ++i) {
            subset& target = a.subsets[items_.ranks - 1 - i];
            const subset& source = b.subsets[i];
            target.sum += source.sum;
            target.count += source.count;
            target.first = swapped ? source.first : target.first;
            next_[target.tail] = source.head;
            target.tail = source.tail;
        }
        a.subsets.insert(a.subsets.end(), b.subsets.begin(), b.subsets.begin() + static_cast<std::ptrdiff_t>(apart));
        const auto larger = [](const subset& left, const subset& right) { return left.larger_than(right); };
        const auto changed = a.subsets.end() - static_cast<std::ptrdiff_t>(b.subsets.size());
        std::sort(changed, a.subsets.end(), larger);
        if (b.subsets.size() == 1) {
            std::rotate(std::upper_bound(a.subsets.begin(), changed, *changed, larger), changed, a.subsets.end());
        } else if (changed != a.subsets.begin()) {
            std::inplace_merge(a.subsets.begin(), changed, a.subsets.end(), larger);
        }
        return a;
    }

    const balance_items<Load>& items_;
    std::vector<std::uint32_t> next_;
    std::vector<std::uint32_t> order_;
    std::vector<partial> heap_;
};

/// The starting assignments (seeds) of a search, and its limits.
struct search_plan {
    bool longest_first = true;
    bool differencing = true;
    std::uint64_t budget = 0;  ///< limit of exchanges to try from each starting assignment; 0: starting assignments
                               ///< are not improved
    /// Exchanges end when the largest load is within 1 ÷ `fineness` of the lower bound. With 0 they end at the bound.
    std::uint64_t fineness = 0;
};

/// Searches for the assignment of items with the smallest peak (largest load). Of equally good assignments it keeps the
/// first.
template <class Load>
class balance_search {
  public:
    balance_search(const balance_items<Load>& items, const search_plan& plan)
        : items_(items), plan_(plan), bound_(items.lower_bound()) {}

    /// Returns the best assignment found. The result is `start` if it fits the capacity and no other assignment is
    /// better.
    [[nodiscard]] rank_list run(const rank_list& start) {
        if (start && items_.fits(*start)) {
            add(start);
        }
        if (plan_.longest_first && !is_optimum()) {
            add(longest_first(items_));
        }
        if (plan_.differencing && !is_optimum()) {
            std::vector<std::uint32_t> found = differencing(items_).ranks();
            add(items_.fits(found) ? std::move(found) : fit_to_capacity(items_, std::move(found)));
        }
        if (!best_) {
            add(by_size());
        }
        if (plan_.budget > 0 && !is_optimum()) {
            refine();
        }
        return best_;
    }

    /// Returns true if the result is proven to be the best: no assignment has a smaller largest load.
    [[nodiscard]] bool is_optimum() const { return best_ && (searched_all_ || peak_ <= bound_); }

  private:
    struct candidate {
        std::vector<std::uint32_t> rank_of;
        Load peak;
    };

    /// Returns an assignment that fits a scarce capacity, or nothing if it finds none. It balances the sizes of items
    /// instead of their costs. The result fits if its largest sum of sizes is at most the capacity.
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
        // The caller's choice of starting assignments and budget is meant for balancing costs. For sizes, both starting
        // assignments and a separate budget are used.
        const search_plan both{.budget = std::max<std::uint64_t>(plan_.budget, 65536)};
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

    /// Improves the starting assignments, the best first. If a result is near the lower bound, the other starting
    /// assignments are skipped, because they could improve it little. Few items are searched to the optimum.
    void refine() {
        std::stable_sort(seeds_.begin(), seeds_.end(),
                         [](const candidate& a, const candidate& b) { return a.peak < b.peak; });
        const Load target = bound_ + (plan_.fineness == 0 ? 0 : static_cast<Load>(bound_ / plan_.fineness));
        for (candidate& seed : seeds_) {
            if (peak_ <= target) {
                break;
            }
            balance_swaps<Load> swaps(items_, std::move(seed.rank_of), target, plan_.budget);
            swaps.run();
            keep(swaps.rank_of(), swaps.peak());
        }
        if (items_.count() <= complete_search<Load>::most_items && plan_.longest_first && plan_.differencing) {
            complete_search<Load> all(items_, std::move(best_), bound_, plan_.budget);
            best_ = all.run();
            peak_ = best_ ? items_.peak_of(*best_) : 0;
            searched_all_ = all.is_optimum();
        }
    }

    const balance_items<Load>& items_;
    search_plan plan_;
    std::vector<candidate> seeds_;
    Load bound_;
    rank_list best_;
    Load peak_ = 0;
    bool searched_all_ = false;
};

}  // namespace floptally::detail
