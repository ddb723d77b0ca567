// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/length_sums.hpp>
#include <floptally/detail/list.hpp>
#include <floptally/detail/slots.hpp>
#include <floptally/detail/tally_words.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/flops.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>

namespace floptally {

/// A batch in two tallies, so that padding inside slots and sequences that are nothing but padding (a mock sequence,
/// the dummy tail of a pack) are told apart: `real()` has the sequences with a real token, in their slots; `mock()` the
/// rest, all of it padding. Their sum is the tally of the batch.
class split_tally {
  public:
    constexpr split_tally() = default;

    constexpr explicit split_tally(const mask_set& masks) : real_(masks), mock_(masks) {}

    /// Of two tallies of the same masks, one of each kind.
    constexpr split_tally(const tally& real, const tally& mock) : real_(real), mock_(mock) {
        static_cast<void>(total());  // they can be added
    }

    /// As `tally::add`.
    constexpr void add(const sequence& real, const sequence& slot) {
        (real.length == 0 ? mock_ : real_).add(real, slot);
    }
    constexpr void add(const sequence& real) { add(real, real); }

    /// As `tally::add_cu_seqlens`.
    template <detail::integer_range Boundaries, detail::integer_range Slots>
    constexpr void add_cu_seqlens(const Boundaries& cu_seqlens, const Slots& cu_seqlens_padded,
                                  std::size_t num_real_seqs = all_sequences) {
        tally(real_.masks()).add_cu_seqlens(cu_seqlens, cu_seqlens_padded, num_real_seqs);  // finds every error
        split_tally sum = *this;
        detail::each_slot_of_pack(cu_seqlens, cu_seqlens_padded, num_real_seqs,
                                  [&sum](const sequence& real, const sequence& slot) { sum.add(real, slot); });
        *this = sum;
    }

    /// As `tally::add_padded`.
    template <detail::integer_range Lengths>
    constexpr void add_padded(const Lengths& lengths, std::uint64_t row_length) {
        tally(real_.masks()).add_padded(lengths, row_length);  // finds every error
        split_tally sum = *this;
        detail::each_slot_of_rows(lengths, row_length,
                                  [&sum](const sequence& real, const sequence& slot) { sum.add(real, slot); });
        *this = sum;
    }

    /// As `tally::add_attention_mask`.
    template <detail::flag_range Flags>
    constexpr void add_attention_mask(const Flags& attention_mask, std::size_t rows, std::size_t columns) {
        const std::span flags{attention_mask};
        const detail::attention_mask_rows<typename decltype(flags)::value_type> batch{flags.data(), flags.size(), rows,
                                                                                      columns};
        split_tally sum = *this;
        for (std::size_t row = 0; row < rows; ++row) {
            sum.add({.length = batch.length(row)}, {.length = static_cast<std::uint32_t>(columns)});
        }
        *this = sum;
    }

    constexpr split_tally& operator+=(const split_tally& other) {
        split_tally sum = *this;
        sum.real_ += other.real_;
        sum.mock_ += other.mock_;
        return *this = sum;
    }

    /// Sequences with a real token: useful, and padded to their slots.
    [[nodiscard]] constexpr const tally& real() const { return real_; }
    /// Slots without a real token: padded only.
    [[nodiscard]] constexpr const tally& mock() const { return mock_; }
    /// The batch.
    [[nodiscard]] constexpr tally total() const {
        tally sum = real_;
        return sum += mock_;
    }

    [[nodiscard]] friend constexpr bool operator==(const split_tally&, const split_tally&) = default;

  private:
    tally real_;
    tally mock_;
};

/// What the padded FLOPs of a batch are spent on.
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
        const std::span<const std::uint64_t> words = part.words();
        const std::size_t half = words.size() / 2;
        detail::list<std::uint64_t> slots;
        slots.fill(words.size(), 0);
        for (std::size_t word = 0; word < half; ++word) {
            slots[word] = slots[half + word] = words[half + word];
        }
        return model.total(tally::from_words(part.masks(), {slots.begin(), words.size()})).value();
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
