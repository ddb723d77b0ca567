// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/batch/split_tally.hpp>
#include <floptally/detail/length_sums.hpp>
#include <floptally/detail/slots.hpp>
#include <floptally/sequence.hpp>
#include <floptally/tally.hpp>

namespace floptally {

/// A sequence in its slot, at whose beginning it stands; {} for `real` is a mock sequence.
struct slotted_sequence {
    sequence real;
    sequence slot;

    [[nodiscard]] friend constexpr bool operator==(const slotted_sequence&, const slotted_sequence&) = default;
};

/// Slots one behind another, each with its sequence: where the tokens of a batch stand, which a tally forgets. A BSHD
/// batch is its rows one behind another. An error leaves the row as it was.
class packed_row {
  public:
    /// As `tally::add`.
    void add(const sequence& real, const sequence& slot) {
        checked_.add(real, slot);
        append(real, slot);
    }
    void add(const sequence& real) { add(real, real); }

    /// As `tally::add_cu_seqlens`.
    template <detail::integer_range Boundaries, detail::integer_range Slots>
    void add_cu_seqlens(const Boundaries& cu_seqlens, const Slots& cu_seqlens_padded,
                        std::size_t num_real_seqs = all_sequences) {
        checked_.add_cu_seqlens(cu_seqlens, cu_seqlens_padded, num_real_seqs);
        detail::each_slot_of_pack(cu_seqlens, cu_seqlens_padded, num_real_seqs,
                                  [this](const sequence& real, const sequence& slot) { append(real, slot); });
    }
    template <detail::integer_range Boundaries>
    void add_cu_seqlens(const Boundaries& cu_seqlens) {
        add_cu_seqlens(cu_seqlens, cu_seqlens);
    }

    /// As `tally::add_padded`.
    template <detail::integer_range Lengths>
    void add_padded(const Lengths& lengths, std::uint64_t row_length) {
        checked_.add_padded(lengths, row_length);
        detail::each_slot_of_rows(lengths, row_length,
                                  [this](const sequence& real, const sequence& slot) { append(real, slot); });
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
        for (const slotted_sequence& one : sequences_) {
            sum.add(one.real, one.slot);
        }
        return sum;
    }

  private:
    void append(const sequence& real, const sequence& slot) {
        sequences_.push_back({real, slot});
        boundaries_.push_back(boundaries_.back() + slot.length);
        key_boundaries_.push_back(key_boundaries_.back() + slot.keys);
    }

    std::vector<slotted_sequence> sequences_;
    std::vector<std::uint64_t> boundaries_{0};
    std::vector<std::uint64_t> key_boundaries_{0};
    tally checked_;  ///< refuses what a tally refuses, before the row changes
};

}  // namespace floptally
