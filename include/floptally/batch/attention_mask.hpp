// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <floptally/integer/checked.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The source of a batch that is given by its attention mask.

namespace floptally {

namespace detail {

/// A contiguous range of flags: bool, or integers that are 0 or 1. (`std::vector<bool>` is not contiguous.)
template <class Range>
concept flag_range = requires(const Range& range) {
    std::span{range}.data();
}
&&std::integral<typename decltype(std::span{std::declval<const Range&>()})::value_type>;

/// Throws what is wrong with the flag at `at`: 1 after a hole in its row, or neither 0 nor 1.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_flag(std::int64_t flag, std::size_t at, std::size_t columns) {
    if (flag == 1) {
        detail::refuse(indexed("attention_mask", at),
                       {"is 1 after the real tokens of row ", at / columns,
                        " have ended: they must stand together, with padding before or after them"});
    }
    detail::refuse(indexed("attention_mask", at), {"must be 0 or 1, got ", std::to_string(flag)});
}

}  // namespace detail

/// A source (source.hpp): a BSHD batch by its attention mask, `rows` x `columns` flags row by row. Its ones are useful,
/// its shape is padded. The ones of a row stand together, with padding on either side.
template <std::integral T>
class attention_mask_rows {
  public:
    using sample = sequence;

    constexpr attention_mask_rows(std::span<const T> flags, std::size_t rows, std::size_t columns)
        : flags_(flags.data()), rows_(rows), columns_(columns) {
        const std::uint64_t shape = checked(rows, "attention_mask") * columns;
        if (shape != flags.size()) {
            detail::refuse("attention_mask",
                           {"must have ", rows, " x ", columns, " = ", shape, " entries, got ", flags.size()});
        }
        if (columns > max_sequence_length) {
            detail::refuse("attention_mask", {"has rows of ", columns, " tokens, above ", max_sequence_length});
        }
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        for (std::size_t row = 0; row < rows_; ++row) {
            visit(sequence{.length = length(row)}, sequence{.length = static_cast<std::uint32_t>(columns_)});
        }
    }

  private:
    /// The number of ones of a row. They stand together: padding is on the left, on the right or on both sides, since a
    /// token after a hole would have another distance to its keys than its number, and windows and chunks go by
    /// distance.
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
                detail::refuse_flag(static_cast<std::int64_t>(flags_[at]), at, columns_);
            }
        }
        return ones;
    }

    const T* flags_;
    std::size_t rows_;
    std::size_t columns_;
};

template <detail::flag_range Flags>
attention_mask_rows(const Flags& flags, std::size_t rows, std::size_t columns)
    -> attention_mask_rows<typename decltype(std::span{flags})::value_type>;

}  // namespace floptally
