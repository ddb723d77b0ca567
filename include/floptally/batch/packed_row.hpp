// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/batch/adds_batches.hpp>
#include <floptally/batch/mask_set.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/sequence.hpp>
#include <floptally/tally.hpp>

namespace floptally {

/// Slots one behind another, each with its sequence: where the tokens of a batch stand, which a tally forgets. A BSHD
/// batch is its rows one behind another. An error leaves the row as it was.
class packed_row : public adds_batches<packed_row> {
  public:
    using sample = sequence;  // a row is a source itself

    /// As `tally::add`, a source of sequences, or one and its slot. The short calls are those of `adds_batches`.
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

    /// The sequences in their slots, one behind another. A row can be added to itself.
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0, size = sequences_.size(); i < size; ++i) {
            const slotted_sequence one = sequences_[i];
            visit(one.real, one.slot);
        }
    }

    [[nodiscard]] const std::vector<slotted_sequence>& sequences() const { return sequences_; }
    /// Where slots begin, and the end of the last: `cu_seqlens_padded`.
    [[nodiscard]] const std::vector<std::uint64_t>& boundaries() const { return boundaries_; }
    /// The same of the slots of the other side of cross attention.
    [[nodiscard]] const std::vector<std::uint64_t>& key_boundaries() const { return key_boundaries_; }
    /// Slots of all tokens.
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
    tally checked_;  ///< refuses what a tally refuses, before the row changes
};

}  // namespace floptally
