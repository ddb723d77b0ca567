// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/batch/adds_batches.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_words.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/sequence.hpp>

/// @file
/// Real sequences and mock sequences in tallies of their own, which show the cost of padding.

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

    /// Counts nothing yet; both tallies keep the pairs of these masks.
    constexpr explicit split_tally(const mask_set& masks) : real_(masks), mock_(masks) {}

    /// Takes a tally of each kind. Different masks are an error.
    constexpr split_tally(const tally& real, const tally& mock) : real_(real), mock_(mock) {
        static_cast<void>(total());  // they can be added
    }

    /// Adds a source, or one sample and its slot, as `tally::add` does. The short calls are those of `adds_batches`.
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

    /// Adds both tallies of another of the same masks.
    constexpr split_tally& operator+=(const split_tally& other) {
        split_tally sum = *this;
        sum.real_ += other.real_;
        sum.mock_ += other.mock_;
        return *this = sum;
    }

    /// Sets both tallies to 0.
    constexpr void clear() {
        real_.clear();
        mock_.clear();
    }

    /// The masks that both tallies were built with.
    [[nodiscard]] constexpr const mask_set& masks() const { return real_.masks(); }

    /// Sequences with a real token: useful, and padded to their slots.
    [[nodiscard]] constexpr const tally& real() const { return real_; }
    /// Slots without a real token: padded only.
    [[nodiscard]] constexpr const tally& mock() const { return mock_; }
    /// The tally of the batch: the sum of both.
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
