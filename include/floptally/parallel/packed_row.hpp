// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/batch/adds_batches.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/sequence.hpp>

/// @file
/// A row of slots that keeps the place of each sequence, which a tally forgets.

namespace floptally {

/// A row of adjacent slots, each with its sequence: the places of a batch's tokens, which a tally forgets. A BSHD batch
/// is its rows one after another. An error leaves the row as it was.
class packed_row : public adds_batches<packed_row> {
  public:
    using sample = sequence;  // a row is a source itself

    /// Adds a source of sequences, or one sequence and its slot, as `tally::add` does. The short calls are those of
    /// `adds_batches`.
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

    /// Shows the sequences in their slots, in order. A row can be added to itself.
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0, size = sequences_.size(); i < size; ++i) {
            const slotted_sequence shown = sequences_[i];
            visit(shown.real, shown.slot);
        }
    }

    [[nodiscard]] const std::vector<slotted_sequence>& sequences() const { return sequences_; }
    /// The begin of each slot, and the end of the last: `cu_seqlens_padded`.
    [[nodiscard]] const std::vector<std::uint64_t>& boundaries() const { return boundaries_; }
    /// The boundaries of the slots on the other side of cross attention.
    [[nodiscard]] const std::vector<std::uint64_t>& key_boundaries() const { return key_boundaries_; }
    /// The number of tokens of all slots.
    [[nodiscard]] std::uint64_t tokens() const { return boundaries_.back(); }

    /// The statistics of the row.
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
    tally checked_;  ///< throws where a tally throws, before the row changes
};

}  // namespace floptally
