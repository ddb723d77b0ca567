// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>
#include <floptally/sequence.hpp>

namespace floptally::detail {

/// A contiguous range of flags: bool, or integers that are 0 or 1. (`std::vector<bool>` is not contiguous.)
template <class Range>
concept flag_range = requires(const Range& range) {
    std::span{range}.data();
}
&&std::integral<typename decltype(std::span{std::declval<const Range&>()})::value_type>;

/// Throws what is wrong with the flag at `at`: 1 after a hole in its row, or neither 0 nor 1.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_flag(std::int64_t flag, std::size_t at, std::size_t columns) {
    if (flag == 1) {
        throw error(indexed("attention_mask", at),
                    "is 1 after the real tokens of row " + std::to_string(at / columns) +
                        " have ended: they must stand together, with padding before or after them");
    }
    throw error(indexed("attention_mask", at), "must be 0 or 1, got " + std::to_string(flag));
}

/// A row-major attention mask of `rows` x `columns`, seen as lengths: a row has its real tokens in one run.
template <std::integral T>
class attention_mask_rows {
  public:
    constexpr attention_mask_rows(const T* flags, std::size_t size, std::size_t rows, std::size_t columns)
        : flags_(flags), columns_(columns) {
        const std::uint64_t shape = checked_multiply(rows, columns, "attention_mask");
        if (shape != size) {
            throw error("attention_mask", "must have " + std::to_string(rows) + " x " + std::to_string(columns) +
                                              " = " + std::to_string(shape) + " entries, got " + std::to_string(size));
        }
        if (columns > max_sequence_length) {
            throw error("attention_mask", "has rows of " + std::to_string(columns) + " tokens, above " +
                                              std::to_string(max_sequence_length));
        }
    }

    /// The number of ones. They stand together: padding is on the left, on the right or on both sides, since a token
    /// after a hole would have another distance to its keys than its number, and windows and chunks go by distance.
    [[nodiscard]] constexpr std::uint32_t length(std::size_t row) const {
        const std::size_t first = row * columns_;
        std::uint32_t ones = 0;
        bool ended = false;
        for (std::size_t at = first; at < first + columns_; ++at) {
            if (flags_[at] == T{0}) {
                ended = ended || ones != 0;
            } else if (flags_[at] == T{1} && !ended) {
                ++ones;
            } else {
                refuse_flag(static_cast<std::int64_t>(flags_[at]), at, columns_);
            }
        }
        return ones;
    }

  private:
    const T* flags_;
    std::size_t columns_;
};

}  // namespace floptally::detail
