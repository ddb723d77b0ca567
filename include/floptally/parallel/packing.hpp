// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/packed.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/token_split.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Packing of samples into rows of a capacity, as data loaders do.

namespace floptally {

/// One [1, T] row of packed samples.
struct pack {
    std::vector<std::uint64_t> samples{};             ///< indices, ascending: the order of the row
    std::vector<std::uint64_t> cu_seqlens{0};         ///< boundaries of the lengths
    std::vector<std::uint64_t> cu_seqlens_padded{0};  ///< boundaries of the slots, which are aligned

    /// The row as a source, which `tally`, `split_tally` and `packed_row` take.
    [[nodiscard]] packed_slots<std::uint64_t, std::uint64_t> source() const { return {cu_seqlens, cu_seqlens_padded}; }
    /// The number of tokens T, with padding.
    [[nodiscard]] std::uint64_t tokens() const { return cu_seqlens_padded.back(); }

    [[nodiscard]] friend bool operator==(const pack&, const pack&) = default;
};

/// Samples packed into rows, and the place of each sample.
struct packing {
    std::vector<pack> rows{};
    std::vector<std::uint64_t> row_of{};     ///< the row of each sample
    std::vector<std::uint64_t> offset_of{};  ///< the begin of its slot in its row, in tokens

    [[nodiscard]] friend bool operator==(const packing&, const packing&) = default;
};

/// The options of packing.
struct packing_options {
    std::uint64_t alignment = 1;  ///< alignment of slots: `cp_alignment(tp, cp)`
    std::uint64_t min_rows = 0;   ///< the least number of rows, as a pipeline or the other ranks need
    std::uint64_t divisor = 1;    ///< the number of rows is a multiple of it
};

namespace detail {

/// The slot of each sample, in tokens.
template <integer_range Lengths>
[[nodiscard]] std::vector<std::uint64_t> aligned_slots(const Lengths& lengths, std::uint64_t alignment) {
    const std::span all{lengths};
    const given_lengths<typename decltype(all)::value_type> checked{all.data(), "lengths"};
    std::vector<std::uint64_t> slots;
    slots.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        slots.push_back(aligned_length(checked.checked(i), alignment));
        if (slots.back() > max_sequence_length) {
            refuse(indexed("lengths", i),
                   {"must leave a slot of at most ", max_sequence_length, " tokens, got one of ", slots.back()});
        }
    }
    return slots;
}

/// Rows of one capacity, with a tree over their free tokens that finds the first row with room in log n steps.
class first_fit_rows {
  public:
    first_fit_rows(std::size_t most_rows, std::uint64_t capacity)
        : leaves_(std::bit_ceil(most_rows)), most_free_(2 * leaves_, capacity) {}

    /// The row that takes a slot, for which a row must have room.
    [[nodiscard]] std::size_t place(std::uint64_t slot) {
        std::size_t node = 1;
        while (node < leaves_) {
            node = 2 * node + (most_free_[2 * node] < slot ? 1U : 0U);
        }
        const std::size_t row = node - leaves_;
        most_free_[node] -= slot;
        for (node /= 2; node != 0; node /= 2) {
            most_free_[node] = std::max(most_free_[2 * node], most_free_[2 * node + 1]);
        }
        return row;
    }

  private:
    std::size_t leaves_;
    std::vector<std::uint64_t> most_free_;  // the root at 1, the leaves last
};

/// Adds rows until there are `wanted`: each takes the largest sample of the fullest row with two or more. `rows` have
/// their samples in descending order.
inline void open_rows(std::vector<std::vector<std::size_t>>& rows, std::size_t wanted,
                      std::span<const std::uint64_t> slots) {
    struct filled_row {
        std::uint64_t tokens;
        std::size_t row;
        [[nodiscard]] bool operator<(const filled_row& other) const {  // the largest is served first
            return tokens != other.tokens ? tokens < other.tokens : row > other.row;
        }
    };
    std::priority_queue<filled_row> fullest;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        std::uint64_t tokens = 0;
        for (const std::size_t sample : rows[row]) {
            tokens += slots[sample];
        }
        std::reverse(rows[row].begin(), rows[row].end());  // the largest is taken off the end
        fullest.push({tokens, row});
    }
    while (rows.size() < wanted) {
        const filled_row from = fullest.top();
        fullest.pop();
        if (rows[from.row].size() > 1) {
            const std::size_t moved = rows[from.row].back();
            rows[from.row].pop_back();
            rows.push_back({moved});
            fullest.push({from.tokens - slots[moved], from.row});
        }
    }
}

}  // namespace detail

/// A packing into `rows` rows by the row of each sample, such as `assignment::rank_of`. A row may be empty.
template <detail::integer_range Lengths, detail::integer_range Rows>
[[nodiscard]] packing pack_into_rows(const Lengths& lengths, const Rows& row_of, std::uint64_t rows,
                                     std::uint64_t alignment = 1) {
    const std::vector<std::uint64_t> slots = detail::aligned_slots(lengths, alignment);
    packing result;
    result.row_of = detail::nonnegative_below(rows, "rows", row_of, "row_of");
    require_as_many(slots.size(), "lengths", result.row_of.size(), "row_of");
    result.rows.resize(rows);
    result.offset_of.reserve(slots.size());
    const std::span all{lengths};
    for (std::size_t i = 0; i < slots.size(); ++i) {
        pack& row = result.rows[result.row_of[i]];
        result.offset_of.push_back(row.tokens());
        row.samples.push_back(i);
        row.cu_seqlens.push_back(row.cu_seqlens.back() + static_cast<std::uint64_t>(all[i]));
        row.cu_seqlens_padded.push_back(checked(row.tokens(), "lengths") + slots[i]);
    }
    return result;
}

/// A packing into rows of at most `capacity` tokens by first-fit decreasing: samples from the longest slot to the
/// shortest, by index where slots are equal, each into the first row with room. The rows are at most 11/9 of the fewest
/// possible plus 6/9 (Dósa 2007). Where `min_rows` and `divisor` ask for more rows, the fullest give up samples; no row
/// is empty. O(n log n).
template <detail::integer_range Lengths>
[[nodiscard]] packing pack_by_capacity(const Lengths& lengths, std::uint64_t capacity,
                                       const packing_options& options = {}) {
    require_positive(options.divisor, "divisor");
    const std::vector<std::uint64_t> slots = detail::aligned_slots(lengths, options.alignment);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (slots[i] > capacity) {
            detail::refuse(indexed("lengths", i),
                           {"must fit the capacity, ", capacity, " tokens, got a slot of ", slots[i]});
        }
    }
    std::vector<std::size_t> descending(slots.size());
    std::iota(descending.begin(), descending.end(), std::size_t{0});
    std::stable_sort(descending.begin(), descending.end(),
                     [&](std::size_t a, std::size_t b) { return slots[a] > slots[b]; });
    detail::first_fit_rows fit(slots.size(), capacity);
    std::vector<std::vector<std::size_t>> rows;
    for (const std::size_t sample : descending) {
        const std::size_t row = fit.place(slots[sample]);
        rows.resize(std::max(rows.size(), row + 1));
        rows[row].push_back(sample);
    }
    const std::uint64_t wanted =
        aligned_length(std::max<std::uint64_t>(rows.size(), options.min_rows), options.divisor);
    if (wanted > slots.size()) {
        detail::refuse(rows.size() < options.min_rows ? "min_rows" : "divisor",
                       {"needs a sample for each of ", wanted, " rows, got ", slots.size()});
    }
    detail::open_rows(rows, wanted, slots);
    std::vector<std::uint64_t> row_of(slots.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
        for (const std::size_t sample : rows[row]) {
            row_of[sample] = row;
        }
    }
    return pack_into_rows(lengths, row_of, rows.size(), options.alignment);
}

}  // namespace floptally
