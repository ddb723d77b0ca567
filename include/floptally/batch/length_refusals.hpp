// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Errors of lengths and boundaries that a tally refuses.

namespace floptally::detail {

/// An integer of 32 or 64 bits, with a sign or without.
template <class T>
concept integer = std::integral<T> && sizeof(T) >= 4 && sizeof(T) <= 8;

/// Throws the error of length i, which is negative or above 2^32 − 1.
template <integer T>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_length(std::string_view field, std::size_t i, T length) {
    const std::string bound = std::cmp_less(length, 0) ? "at least 0" : "at most 4294967295";
    refuse(indexed(field, i), {"must be ", bound, ", got ", length});
}

/// Throws the error of boundary i, which is negative, below the boundary before it or more than 2^32 − 1 above it.
template <integer T>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_boundary(std::string_view field, std::size_t i, T before,
                                                            T boundary) {
    std::string bound = text_of({"at most 4294967295 above the boundary before it, ", before});
    if (std::cmp_less(boundary, 0)) {
        bound = "at least 0";
    } else if (boundary < before) {
        bound = text_of({"at least the boundary before it, ", before});
    }
    refuse(indexed(field, i), {"must be ", bound, ", got ", boundary});
}

/// Throws where the first boundary is not 0.
template <integer T>
constexpr void require_start(std::string_view field, T boundary) {
    if (boundary != 0) {
        refuse(indexed(field, 0), {"must be 0, got ", boundary});
    }
}

/// Throws where the slot between boundaries i and i + 1 is shorter than its sequence.
constexpr void require_slot(std::size_t i, std::uint64_t length, std::uint64_t slot,
                            std::string_view slots_field = "cu_seqlens_padded") {
    if (slot < length) {
        refuse(indexed(slots_field, i + 1), {"leaves a slot of ", slot, " tokens for a sequence of ", length});
    }
}

/// Throws where a row is longer than a sequence may be.
constexpr void require_row_length(std::uint64_t row_length) {
    if (row_length > max_sequence_length) {
        refuse("row_length", {"must be at most ", max_sequence_length, ", got ", row_length});
    }
}

/// Throws where length i is longer than its row.
constexpr void require_in_row(std::string_view field, std::size_t i, std::uint64_t length, std::uint64_t row_length) {
    if (length > row_length) {
        refuse(indexed(field, i), {"must be at most the row_length, ", row_length, ", got ", length});
    }
}

/// Throws the error of two lists of boundaries whose sizes do not go together.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_boundary_count(std::string_view field, std::size_t has,
                                                                         std::string_view other,
                                                                         std::size_t other_has) {
    refuse(field, {"has ", has, " boundaries, ", other, " has ", other_has});
}

/// Throws the error of a number of real sequences that is negative or above the number of sequences.
template <integer T>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_real_sequences(T num_real_seqs, std::uint64_t sequences) {
    const std::string bound = std::cmp_greater(num_real_seqs, sequences)
                                  ? text_of({"at most the ", sequences, " sequences of cu_seqlens"})
                                  : "at least 0";
    refuse("num_real_seqs", {"must be ", bound, ", got ", num_real_seqs});
}

}  // namespace floptally::detail
