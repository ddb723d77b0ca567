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

namespace floptally::detail {

/// The words of every rank of a group, in the order of its ranks, gathered by one SUM in which each rank has a place of
/// its own and zeros elsewhere. A caller adds them up in that order, so that sums of floating-point numbers have the
/// same bits on every rank and each time, in whatever order the collective itself adds.
class rank_gather {
  public:
    rank_gather(const parallel_layout& layout, axis_set axes) : layout_(layout), axes_(axes) {
        for (const std::uint64_t rank : layout.group(axes)) {
            ranks_.push_back(rank);
        }
    }

    /// Gathers each rank's `size` words, which `values` returns. Where it throws on one rank, all ranks throw and none
    /// waits. Ranks must agree on `size` before.
    template <class Reducer, class Values>
    void collect(std::size_t size, Reducer& over, Values values) {
        const std::size_t stride = size + 2;  // rank + 1, then 1 where the rank refuses
        std::vector<std::uint64_t> sent(ranks_.size() * stride, 0);
        std::uint64_t* place = sent.data() + own_slot() * stride;
        place[0] = layout_.rank() + 1;
        std::exception_ptr own;
        try {
            const auto words = values();
            std::copy(words.begin(), words.end(), place + 2);
        } catch (...) {
            own = std::current_exception();
            place[1] = 1;
        }
        over.sum(std::span<std::uint64_t>(sent));
        if (own) {
            std::rethrow_exception(own);
        }
        words_.clear();
        for (std::size_t slot = 0; slot < ranks_.size(); ++slot) {
            const std::uint64_t* words = sent.data() + slot * stride;
            if (words[0] != ranks_[slot] + 1) {
                refuse("sum", {"is of other ranks than those of ", axes_.name(), ", which the scope names"});
            }
            if (words[1] != 0) {
                refuse("sum", {"rank ", ranks_[slot], " refused; its own error says why"});
            }
            words_.emplace_back(words + 2, words + stride);
        }
    }

    [[nodiscard]] const std::vector<std::uint64_t>& ranks() const { return ranks_; }
    /// The words of the rank at this place of the group.
    [[nodiscard]] std::span<const std::uint64_t> words_of(std::size_t slot) const { return words_[slot]; }
    [[nodiscard]] const parallel_layout& layout() const { return layout_; }
    [[nodiscard]] axis_set axes() const { return axes_; }

    /// The place of a rank of the group.
    [[nodiscard]] std::size_t slot_of(std::uint64_t rank) const {
        return static_cast<std::size_t>(std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
    }

  private:
    [[nodiscard]] std::size_t own_slot() const { return slot_of(layout_.rank()); }

    parallel_layout layout_;
    axis_set axes_;
    std::vector<std::uint64_t> ranks_;
    std::vector<std::vector<std::uint64_t>> words_;
};

}  // namespace floptally::detail
