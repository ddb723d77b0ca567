// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/batch/formats.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/sequence.hpp>

/// @file
/// Sequences in their slots, in the order of the batch. (A tally does not keep that order.)

namespace floptally::inline v0_3 {

/// The sequences of a batch, each in its slot, one slot after another. Unlike a tally, this class keeps the position of
/// each token in the batch. A BSHD batch is stored as its rows, one after another. If a call throws, the object is
/// unchanged.
class placed_sequences : public adds_batches<placed_sequences> {
  public:
    using sample = sequence;  // type of a sample; every batch source must name it

    /// Adds a source of sequences, or one sequence and its slot, as `tally::add` does. `adds_batches` provides the
    /// short overloads.
    template <batch_source Source>
    requires std::same_as<typename Source::sample, sequence>
    void add(const Source& source) {
        tally checked = checked_;
        const std::size_t before = sequences_.size();
        try {
            detail::visit_samples(source, {}, [&](const sequence& real, const sequence& slot) {
                checked.add(real, slot);
                append(real, slot);
            });
        } catch (...) {
            shrink_to(before);
            throw;
        }
        checked_ = checked;
    }
    void add(const sequence& real, const sequence& slot) {
        checked_.add(real, slot);
        append(real, slot);
    }
    void add(const sequence& real) { add(real, real); }

    /// Calls `visit(sequence, slot)` for each sequence, in order. `visit` may add sequences to this object, so that an
    /// object can be added to itself.
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0, size = sequences_.size(); i < size; ++i) {
            const slotted_sequence shown = sequences_[i];
            visit(shown.real, shown.slot);
        }
    }

    [[nodiscard]] const std::vector<slotted_sequence>& sequences() const { return sequences_; }
    /// Returns the beginning of each slot and the end of the last: `cu_seqlens_padded`.
    [[nodiscard]] const std::vector<std::uint64_t>& boundaries() const { return boundaries_; }
    /// Returns the boundaries of the slots of the encoder's tokens, which are the keys of cross attention.
    [[nodiscard]] const std::vector<std::uint64_t>& key_boundaries() const { return key_boundaries_; }
    /// Returns the number of tokens of all slots.
    [[nodiscard]] std::uint64_t tokens() const { return boundaries_.back(); }

    /// Returns the tally of the sequences.
    [[nodiscard]] split_tally tally_of(const mask_set& masks) const {
        split_tally sum{masks};
        sum.add(*this);
        return sum;
    }

  private:
    void append(const sequence& real, const sequence& slot) {
        sequences_.push_back({real, slot});
        boundaries_.push_back(boundaries_.back() + slot.length);
        key_boundaries_.push_back(key_boundaries_.back() + slot.keys);
    }

    void shrink_to(std::size_t sequences) {
        sequences_.resize(sequences);
        boundaries_.resize(sequences + 1);
        key_boundaries_.resize(sequences + 1);
    }

    std::vector<slotted_sequence> sequences_;
    std::vector<std::uint64_t> boundaries_{0};
    std::vector<std::uint64_t> key_boundaries_{0};
    tally checked_;  ///< This tally adds each sequence first, so that an invalid sequence throws before anything
                     ///< changes.
};

}  // namespace floptally
