// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <floptally/balance/detail/items.hpp>

namespace floptally::detail {

/// Karmarkar and Karp's differencing for any number of ranks. A partial assignment is a list of subsets, one for each
/// rank but not yet tied to it. The two partial assignments with the largest difference between their largest and
/// smallest subset are merged, the largest subset of one with the smallest of the other, until a single one is left.
///
/// With equal counts the first partial assignments are runs of items, one item for each rank, so that every merge keeps
/// counts equal (balanced differencing). Otherwise each item is a partial assignment.
///
/// Ties are decided as the balancers of training frameworks decide them (verl, recsys-examples), so that the result is
/// theirs and a search from it is never worse. Of subsets with equal sums the one with more items is larger, then the
/// one whose first item has the larger number; of partial assignments with equal differences the one with the larger
/// first subset comes first. Several loads of an item count as their sum.
template <class Load>
class differencing {
  public:
    explicit differencing(const balance_items<Load>& items)
        : items_(items), next_(items.count(), none), order_(items.count()) {
        // By descending cost; of equal costs the larger number first.
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
        // Items come by descending cost, so the next single item has the largest difference of those left. Runs are not
        // in that order and go to the heap at once.
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

    /// Items as a list in `next_`, in any order.
    struct subset {
        Load sum;
        std::uint32_t count;
        std::uint32_t first;  ///< the number of the item that was in it first
        std::uint32_t head;
        std::uint32_t tail;

        [[nodiscard]] bool larger_than(const subset& other) const {
            if (sum != other.sum) {
                return sum > other.sum;
            }
            return count != other.count ? count > other.count : first > other.first;
        }
    };

    /// A partial assignment: subsets by descending size, without the empty ones.
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

    void push(partial added) {
        const bool all_filled = added.subsets.size() == items_.ranks;
        added.difference = added.subsets.front().sum - (all_filled ? added.subsets.back().sum : 0);
        heap_.push_back(std::move(added));
        std::push_heap(heap_.begin(), heap_.end(), comes_later);
    }

    [[nodiscard]] partial pop() {
        std::pop_heap(heap_.begin(), heap_.end(), comes_later);
        partial first = std::move(heap_.back());
        heap_.pop_back();
        return first;
    }

    /// The partial assignment of both: the larger a subset of `b`, the smaller the subset of `a` that it joins, empty
    /// ones first.
    [[nodiscard]] partial merged(partial a, partial b) {
        const bool swapped = a.subsets.size() < b.subsets.size();
        if (swapped) {
            std::swap(a, b);
        }
        const std::size_t filled = a.subsets.size();
        const std::size_t apart = std::min(b.subsets.size(), items_.ranks - filled);
        for (std::size_t i = apart; i < b.subsets.size(); ++i) {
            subset& own = a.subsets[items_.ranks - 1 - i];
            const subset& joins = b.subsets[i];
            own.sum += joins.sum;
            own.count += joins.count;
            own.first = swapped ? joins.first : own.first;
            next_[own.tail] = joins.head;
            own.tail = joins.tail;
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

}  // namespace floptally::detail
