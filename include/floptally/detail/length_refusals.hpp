// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/error.hpp>
#include <floptally/sequence.hpp>

/// @file
/// What a tally says of lengths and boundaries that it refuses.

namespace floptally::detail {

template <class T>
concept integer = std::integral<T> && sizeof(T) >= 4 && sizeof(T) <= 8;

/// Throws what is wrong with length i.
template <integer T>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_length(std::string_view field, std::size_t i, T length) {
    const std::string bound = std::cmp_less(length, 0) ? "at least 0" : "at most 4294967295";
    throw error(indexed(field, i), "must be " + bound + ", got " + std::to_string(length));
}

/// Throws what is wrong with boundary i, which stands after another.
template <integer T>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_boundary(std::string_view field, std::size_t i, T before,
                                                            T boundary) {
    std::string bound = "at most 4294967295 above the boundary before it, " + std::to_string(before);
    if (std::cmp_less(boundary, 0)) {
        bound = "at least 0";
    } else if (boundary < before) {
        bound = "at least the boundary before it, " + std::to_string(before);
    }
    throw error(indexed(field, i), "must be " + bound + ", got " + std::to_string(boundary));
}

/// Throws where the first boundary is not 0.
template <integer T>
constexpr void require_start(std::string_view field, T boundary) {
    if (boundary != 0) {
        throw error(indexed(field, 0), "must be 0, got " + std::to_string(boundary));
    }
}

/// Throws where the slot between boundaries i and i + 1 is shorter than its sequence.
constexpr void require_slot(std::size_t i, std::uint64_t length, std::uint64_t slot,
                            std::string_view slots_field = "cu_seqlens_padded") {
    if (slot < length) {
        throw error(indexed(slots_field, i + 1),
                    "leaves a slot of " + std::to_string(slot) + " tokens for a sequence of " + std::to_string(length));
    }
}

constexpr void require_row_length(std::uint64_t row_length) {
    if (row_length > max_sequence_length) {
        throw error("row_length",
                    "must be at most " + std::to_string(max_sequence_length) + ", got " + std::to_string(row_length));
    }
}

/// Throws where length i is longer than its row.
constexpr void require_in_row(std::string_view field, std::size_t i, std::uint64_t length, std::uint64_t row_length) {
    if (length > row_length) {
        throw error(indexed(field, i), "must be at most the row_length, " + std::to_string(row_length) + ", got " +
                                           std::to_string(length));
    }
}

/// Throws where two lists of boundaries are of so many that they do not go together.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_boundary_count(std::string_view field, std::size_t has,
                                                                         std::string_view other,
                                                                         std::size_t other_has) {
    throw error(field, "has " + std::to_string(has) + " boundaries, " + std::string(other) + " has " +
                           std::to_string(other_has));
}

template <integer T>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_real_sequences(T num_real_seqs, std::uint64_t sequences) {
    const std::string bound = std::cmp_less(num_real_seqs, 0)
                                  ? "at least 0"
                                  : "at most the " + std::to_string(sequences) + " sequences of cu_seqlens";
    throw error("num_real_seqs", "must be " + bound + ", got " + std::to_string(num_real_seqs));
}

}  // namespace floptally::detail
