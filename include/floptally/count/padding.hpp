// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_words.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// The padded FLOPs of a batch, taken apart: slots, mock sequences, vocabulary.

namespace floptally {

/// The padded FLOPs of a batch, by what they are spent on.
struct padding_flops {
    flops useful;      ///< real tokens
    flops in_slots;    ///< the slots of real sequences, beyond their tokens
    flops mock;        ///< sequences without a real token
    flops vocabulary;  ///< every slot's logits beyond the real vocabulary

    /// The padded view: the four add up to it exactly.
    [[nodiscard]] constexpr flops padded() const { return useful + in_slots + mock + vocabulary; }
};

/// The padded view of a batch, taken apart.
[[nodiscard]] constexpr padding_flops padding_of(const flop_counter& model, const split_tally& batch) {
    // Every slot as if it were real: the useful coefficients, which have the real vocabulary, of the padded words.
    const auto all_real = [&](const tally& part) {
        const std::uint64_t* const words = part.data();
        const std::size_t half = detail::tally_words::stride_of(part.masks());
        detail::list<std::uint64_t> slots;
        slots.fill(2 * half, 0);
        for (std::size_t word = 0; word < half; ++word) {
            slots[word] = slots[half + word] = words[half + word];
        }
        return model.total(tally::from_words(part.masks(), {slots.begin(), slots.size()})).value();
    };
    const tally whole = batch.total();
    const uint128 useful = model.total(batch.real()).value();
    const uint128 slots = all_real(batch.real());
    const uint128 every_slot = all_real(whole);
    return {.useful = flops{useful},
            .in_slots = flops{slots - useful},
            .mock = flops{every_slot - slots},
            .vocabulary = flops{model.total(whole, view::padded).value() - every_slot}};
}

}  // namespace floptally
