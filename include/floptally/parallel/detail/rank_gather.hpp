// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

/// Gathers the integers of every rank of a group, in the order of its ranks. It uses one all-reduce SUM: each rank
/// fills a slot of its own and leaves zeros elsewhere. If the caller adds up floating-point numbers in the order of
/// ranks, the sums have the same bits on every rank and in every run. The order in which the collective adds does not
/// matter.
class rank_gather {
  public:
    rank_gather(const parallel_layout& layout, axis_set axes) : layout_(layout), axes_(axes) {
        for (const std::uint64_t rank : layout.group(axes)) {
            ranks_.push_back(rank);
        }
    }

    /// Gathers the `size` integers that `values` returns on each rank. If `values` throws on one rank, all ranks throw
    /// and none waits. `size` must be equal on all ranks.
    template <class Reducer, class Values>
    void collect(std::size_t size, Reducer& reducer, Values values) {
        const std::size_t stride =
            size + 2;  // a slot contains the rank + 1, a 1 if `values` threw on that rank, and the integers
        std::vector<std::uint64_t> message(ranks_.size() * stride, 0);
        std::uint64_t* own = message.data() + own_slot() * stride;
        own[0] = layout_.rank() + 1;
        std::exception_ptr own_error;
        try {
            const auto integers = values();
            std::copy(integers.begin(), integers.end(), own + 2);
        } catch (...) {
            own_error = std::current_exception();
            own[1] = 1;
        }
        reducer.sum(std::span<std::uint64_t>(message));
        if (own_error) {
            std::rethrow_exception(own_error);
        }
        integers_.clear();
        for (std::size_t slot = 0; slot < ranks_.size(); ++slot) {
            const std::uint64_t* integers = message.data() + slot * stride;
            if (integers[0] != ranks_[slot] + 1) {
                refuse("sum",
                       {"must contain exactly the ranks of ", axes_.name(), ": pass a reducer over these ranks"});
            }
            if (integers[1] != 0) {
                refuse("sum", {"rank ", ranks_[slot], " failed: look at the error of that rank"});
            }
            integers_.emplace_back(integers + 2, integers + stride);
        }
    }

    [[nodiscard]] const std::vector<std::uint64_t>& ranks() const { return ranks_; }
    /// Returns the integers that the rank at position `slot` of the group sent.
    [[nodiscard]] std::span<const std::uint64_t> integers_of(std::size_t slot) const { return integers_[slot]; }
    [[nodiscard]] const parallel_layout& layout() const { return layout_; }
    [[nodiscard]] axis_set axes() const { return axes_; }

    /// Returns the position of a rank in the group. `integers_of` takes it as `slot`.
    [[nodiscard]] std::size_t slot_of(std::uint64_t rank) const {
        return static_cast<std::size_t>(std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
    }

  private:
    [[nodiscard]] std::size_t own_slot() const { return slot_of(layout_.rank()); }

    parallel_layout layout_;
    axis_set axes_;
    std::vector<std::uint64_t> ranks_;
    std::vector<std::vector<std::uint64_t>> integers_;
};

}  // namespace floptally::detail
