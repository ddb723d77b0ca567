// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <floptally/error.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>

namespace floptally::detail {

/// The words of every rank of a group, in the order of its ranks, by one SUM: each rank writes its own into a place of
/// its own and zeros elsewhere. What is added up from them afterwards is added in that order on every rank, so that
/// sums of floating-point numbers have the same bits everywhere and each time, whatever a collective would do.
class rank_gather {
  public:
    rank_gather(const parallel_layout& layout, axis_set axes) : layout_(layout), axes_(axes) {
        for (const std::uint64_t rank : layout.group(axes)) {
            ranks_.push_back(rank);
        }
    }

    /// Each rank's `size` words, which `values` gives, or throws: then all throw, and none waits. Ranks must agree on
    /// `size` before.
    template <class Reducer, class Values>
    void collect(std::size_t size, Reducer& over, Values values) {
        const std::size_t stride = size + 2;  // its number and 1; 1 where it refuses
        std::vector<std::uint64_t> sent(ranks_.size() * stride, 0);
        std::uint64_t* place = sent.data() + own_slot() * stride;
        place[0] = layout_.rank() + 1;
        std::optional<error> own;
        try {
            const std::vector<std::uint64_t> words = values();
            std::copy(words.begin(), words.end(), place + 2);
        } catch (const error& problem) {
            own = problem;
            place[1] = 1;
        }
        over.sum(std::span<std::uint64_t>(sent));
        if (own) {
            throw error(*own);
        }
        words_.clear();
        for (std::size_t slot = 0; slot < ranks_.size(); ++slot) {
            const std::uint64_t* of = sent.data() + slot * stride;
            if (of[0] != ranks_[slot] + 1) {
                throw error("sum", "is of other ranks than those of " + axes_.name() + ", which the scope names");
            }
            if (of[1] != 0) {
                throw error("sum", "rank " + std::to_string(ranks_[slot]) + " refused; its own error says why");
            }
            words_.emplace_back(of + 2, of + stride);
        }
    }

    [[nodiscard]] const std::vector<std::uint64_t>& ranks() const { return ranks_; }
    /// What the rank at this place of the group sent.
    [[nodiscard]] std::span<const std::uint64_t> of(std::size_t slot) const { return words_[slot]; }
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
