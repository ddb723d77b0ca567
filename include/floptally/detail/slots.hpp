// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <floptally/detail/length_sums.hpp>
#include <floptally/sequence.hpp>

/// @file
/// The sequences of a batch in their slots, one by one. A tally must have accepted the batch before: nothing is
/// checked.

namespace floptally::detail {

/// Calls `visit(real, slot)` for each slot of a pack; from `num_real_seqs` on they hold nothing real.
template <integer_range Boundaries, integer_range Slots, class Visit>
constexpr void each_slot_of_pack(const Boundaries& cu_seqlens, const Slots& cu_seqlens_padded,
                                 std::size_t num_real_seqs, Visit visit) {
    const std::span real{cu_seqlens};
    const std::span slots{cu_seqlens_padded};
    for (std::size_t i = 0; i + 1 < real.size(); ++i) {
        visit(sequence{.length = i < num_real_seqs ? static_cast<std::uint32_t>(real[i + 1] - real[i]) : 0},
              sequence{.length = static_cast<std::uint32_t>(slots[i + 1] - slots[i])});
    }
}

/// The same for rows that are padded to one length.
template <integer_range Lengths, class Visit>
constexpr void each_slot_of_rows(const Lengths& lengths, std::uint64_t row_length, Visit visit) {
    for (const auto length : std::span{lengths}) {
        visit(sequence{.length = static_cast<std::uint32_t>(length)},
              sequence{.length = static_cast<std::uint32_t>(row_length)});
    }
}

}  // namespace floptally::detail
