// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <floptally/batch/adds_batches.hpp>
#include <floptally/batch/mask_set.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/detail/list.hpp>
#include <floptally/detail/sample_checks.hpp>
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
class split_tally : public adds_batches<split_tally> {
  private:  // first, for clang, as in a tally
    template <batch_sample Sample>
    constexpr void add_sample(const Sample& real, const Sample& slot) {
        (detail::is_mock(real) ? mock_ : real_).add(real, slot);
    }

  public:
    constexpr split_tally() = default;

    constexpr explicit split_tally(const mask_set& masks) : real_(masks), mock_(masks) {}

    /// Of two tallies of the same masks, one of each kind.
    constexpr split_tally(const tally& real, const tally& mock) : real_(real), mock_(mock) {
        static_cast<void>(total());  // they can be added
    }

    /// As `tally::add`, a source, or one sample and its slot. The short calls are those of `adds_batches`.
    template <batch_source Source>
    constexpr void add(const Source& source) {
        split_tally sum = *this;
        detail::visit_samples(source, real_.masks(),
                              [&sum](const auto& real, const auto& slot) { sum.add(real, slot); });
        *this = sum;
    }
    constexpr void add(const sequence& real, const sequence& slot) { add_sample(real, slot); }
    constexpr void add(const sequence& real) { add_sample(real, real); }
    template <tower_sample Sample>
    constexpr void add(const Sample& real, const Sample& slot) {
        add_sample(real, slot);
    }
    template <tower_sample Sample>
    constexpr void add(const Sample& real) {
        add_sample(real, real);
    }

    constexpr split_tally& operator+=(const split_tally& other) {
        split_tally sum = *this;
        sum.real_ += other.real_;
        sum.mock_ += other.mock_;
        return *this = sum;
    }

    /// Counts nothing again.
    constexpr void clear() {
        real_.clear();
        mock_.clear();
    }

    /// What both were built with.
    [[nodiscard]] constexpr const mask_set& masks() const { return real_.masks(); }

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
