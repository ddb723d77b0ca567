// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>

/// @file
/// Splits the padded FLOPs of a batch by cause: padding slots, mock sequences, padded vocabulary.

namespace floptally::inline v0_3 {

/// The padded FLOPs of a batch by cause.
struct padding_flops {
    flops useful;      ///< FLOPs of real tokens
    flops in_slots;    ///< FLOPs of padding slots in sequences with a real token
    flops mock;        ///< FLOPs of sequences without a real token
    flops vocabulary;  ///< FLOPs of the logits of padded vocabulary entries, for all slots

    /// Returns the FLOPs of the padded view. They are exactly the sum of `useful`, `in_slots`, `mock` and `vocabulary`.
    [[nodiscard]] constexpr flops padded() const { return useful + in_slots + mock + vocabulary; }
};

/// Splits the FLOPs of a batch's padded view by cause.
[[nodiscard]] constexpr padding_flops padding_of(const flop_counter& model, const split_tally& batch) {
    // Returns the FLOPs that a batch would have if every slot held a real token and the vocabulary had no padding.
    // These FLOPs are the coefficients of the useful view times the accumulators of the padded view.
    const auto all_real = [&](const tally& part) {
        const std::uint64_t* const accumulators = part.data();
        const std::size_t half = detail::tally_accumulators::stride_of(part.masks());
        list<std::uint64_t> slots;
        slots.fill(2 * half, 0);
        for (std::size_t accumulator = 0; accumulator < half; ++accumulator) {
            slots[accumulator] = slots[half + accumulator] = accumulators[half + accumulator];
        }
        return model.total_flops(part.with_accumulators({slots.begin(), slots.size()})).value();
    };
    const tally whole = batch.total();
    const uint128 useful = model.total_flops(batch.real()).value();
    const uint128 slots = all_real(batch.real());
    const uint128 every_slot = all_real(whole);
    return {.useful = flops{useful},
            .in_slots = flops{slots - useful},
            .mock = flops{every_slot - slots},
            .vocabulary = flops{model.total_flops(whole, view::padded).value() - every_slot}};
}

}  // namespace floptally
