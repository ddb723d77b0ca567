// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/batch/formats.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/sequence.hpp>

/// @file
/// Counts real and mock sequences in separate tallies, to show the cost of padding.

namespace floptally::inline v0_3 {

/// A batch in two tallies, to separate padding inside slots from sequences that are only padding (a mock sequence, the
/// dummy tail of a pack). `real()` has the sequences with a real token and their slots. `mock()` has all other slots.
/// The sum of `real()` and `mock()` is the tally of the batch.
class split_tally : public adds_batches<split_tally> {
  private:
    // Private members come first: clang evaluates a template in a constant expression only after its definition.
    template <batch_sample Sample>
    constexpr void add_sample(const Sample& real, const Sample& slot) {
        (detail::is_mock(real) ? mock_ : real_).add(real, slot);
    }

  public:
    constexpr split_tally() = default;

    /// Starts with empty tallies that count the pairs of these masks.
    constexpr explicit split_tally(const mask_set& masks) : real_(masks), mock_(masks) {}

    /// Takes the tallies of real and of mock sequences. Throws `error` for different masks.
    constexpr split_tally(const tally& real, const tally& mock) : real_(real), mock_(mock) {
        static_cast<void>(total());  // This sum throws if the masks differ.
    }

    /// Adds a source, or one sample and its slot, like `tally::add`. For short calls see `adds_batches`.
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

    /// Adds both tallies of another split tally with the same masks.
    constexpr split_tally& operator+=(const split_tally& other) {
        split_tally sum = *this;
        sum.real_ += other.real_;
        sum.mock_ += other.mock_;
        return *this = sum;
    }

    /// Sets all sums to 0, those of real and those of mock sequences.
    constexpr void clear() {
        real_.clear();
        mock_.clear();
    }

    /// Returns the masks that the tallies were built with.
    [[nodiscard]] constexpr const mask_set& masks() const { return real_.masks(); }

    /// Returns the tally of sequences with a real token. Its useful view counts tokens, its padded view slots.
    [[nodiscard]] constexpr const tally& real() const { return real_; }
    /// Returns the tally of slots without a real token. They count only as padded.
    [[nodiscard]] constexpr const tally& mock() const { return mock_; }
    /// Returns the tally of the batch: the sum of `real()` and `mock()`.
    [[nodiscard]] constexpr tally total() const {
        tally sum = real_;
        return sum += mock_;
    }

    [[nodiscard]] friend constexpr bool operator==(const split_tally&, const split_tally&) = default;

  private:
    tally real_;
    tally mock_;
};

}  // namespace floptally
