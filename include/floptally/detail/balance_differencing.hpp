// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <floptally/detail/balance_items.hpp>

namespace floptally::detail {

/// Karmarkar and Karp's differencing for any number of ranks. A partial assignment is as many subsets as there are
/// ranks, not yet tied to any; the two partial assignments with the largest difference between their largest and
/// smallest subset become one, the largest subset of one with the smallest of the other, until one is left.
///
/// With equal counts the first partial assignments are the items in runs of one for each rank, the costliest run
/// first, so that every merge keeps counts equal (balanced differencing). Else each item is one of its own.
///
/// Several loads of an item count as their sum.
template <class Load>
class differencing {
  public:
    explicit differencing(const balance_items<Load>& items) : items_(items), next_(items.count(), none) {}

    [[nodiscard]] std::vector<std::uint32_t> ranks() {
        const bool in_runs = items_.has_equal_counts();
        const std::size_t step = in_runs ? items_.ranks : 1;
        std::size_t taken = 0;
        // Items come by descending cost, so of single ones the next is always the largest difference. Runs are not in
        // that order and go to the heap at once.
        const auto take_single = [&] {
            partial single{{alone(taken)}, 0, taken};
            ++taken;
            return single;
        };
        if (in_runs) {
            for (; taken < items_.count(); taken += step) {
                partial run{{}, 0, taken};
                for (std::size_t item = taken; item < taken + step; ++item) {
                    run.subsets.push_back(alone(item));
                }
                push(std::move(run));
            }
        }
        const auto take = [&] {
            return taken < items_.count() && (heap_.empty() || sum_of(taken) >= heap_.front().difference)
                       ? take_single()
                       : pop();
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

    /// Items as a list in `next_`.
    struct subset {
        Load sum;
        std::uint32_t head;
        std::uint32_t tail;
    };

    /// Subsets by descending sum; those without an item are left out. `age` makes the order total.
    struct partial {
        std::vector<subset> subsets;
        Load difference;
        std::size_t age;
    };

    [[nodiscard]] Load sum_of(std::size_t item) const {
        Load sum = 0;
        for (const Load load : items_.of(item)) {
            sum += load;
        }
        return sum;
    }

    [[nodiscard]] subset alone(std::size_t item) const {
        return {sum_of(item), static_cast<std::uint32_t>(item), static_cast<std::uint32_t>(item)};
    }

    [[nodiscard]] static bool comes_later(const partial& a, const partial& b) {
        return a.difference != b.difference ? a.difference < b.difference : a.age > b.age;
    }

    void push(partial one) {
        const bool all_filled = one.subsets.size() == items_.ranks;
        one.difference = one.subsets.front().sum - (all_filled ? one.subsets.back().sum : 0);
        heap_.push_back(std::move(one));
        std::push_heap(heap_.begin(), heap_.end(), comes_later);
    }

    [[nodiscard]] partial pop() {
        std::pop_heap(heap_.begin(), heap_.end(), comes_later);
        partial one = std::move(heap_.back());
        heap_.pop_back();
        return one;
    }

    /// The larger a subset of `b`, the smaller the one of `a` that it joins, those without an item first.
    [[nodiscard]] partial merged(partial a, partial b) {
        if (a.subsets.size() < b.subsets.size()) {
            std::swap(a, b);
        }
        a.age = std::min(a.age, b.age);
        const std::size_t filled = a.subsets.size();
        const std::size_t apart = std::min(b.subsets.size(), items_.ranks - filled);
        for (std::size_t i = apart; i < b.subsets.size(); ++i) {
            subset& own = a.subsets[items_.ranks - 1 - i];
            own.sum += b.subsets[i].sum;
            next_[own.tail] = b.subsets[i].head;
            own.tail = b.subsets[i].tail;
        }
        a.subsets.insert(a.subsets.end(), b.subsets.begin(), b.subsets.begin() + static_cast<std::ptrdiff_t>(apart));
        const auto larger = [](const subset& one, const subset& other) {
            return one.sum != other.sum ? one.sum > other.sum : one.head < other.head;
        };
        const auto changed = a.subsets.end() - static_cast<std::ptrdiff_t>(b.subsets.size());
        std::sort(changed, a.subsets.end(), larger);
        if (b.subsets.size() == 1) {
            std::rotate(std::upper_bound(a.subsets.begin(), changed, *changed, larger), changed, a.subsets.end());
        } else {
            std::inplace_merge(a.subsets.begin(), changed, a.subsets.end(), larger);
        }
        return a;
    }

    const balance_items<Load>& items_;
    std::vector<std::uint32_t> next_;
    std::vector<partial> heap_;
};

}  // namespace floptally::detail
