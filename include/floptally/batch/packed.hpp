// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Sources of packed rows, which are given by their boundaries 0, L₁, L₁+L₂ and so on. Boundaries are any contiguous
/// range of 32- or 64-bit integers, one more than there are sequences.

namespace floptally {

/// `num_real_seqs` of a batch without mock sequences.
inline constexpr std::size_t all_sequences = std::numeric_limits<std::size_t>::max();

/// A source (source.hpp): packed sequences without padding. Repeated boundaries are empty sequences and count nothing.
template <detail::integer T>
class packed_sequences {
  public:
    using sample = sequence;

    constexpr packed_sequences(std::span<const T> cu_seqlens) : cu_seqlens_(cu_seqlens) {}  // NOLINT: a view

    template <class Visit>
    constexpr void each(Visit visit) const {
        const auto lengths = detail::between(cu_seqlens_.data(), cu_seqlens_.size(), "cu_seqlens");
        for (std::size_t i = 0; i + 1 < cu_seqlens_.size(); ++i) {
            const sequence real{.length = lengths.checked(i)};
            visit(real, real);
        }
    }

    template <class Commit>
    constexpr void sum(const detail::sum_space& space, Commit commit) const {
        detail::require_modality(space.masks(), modality::text, "lengths");
        detail::commit_sums(detail::between(cu_seqlens_.data(), cu_seqlens_.size(), "cu_seqlens"),
                            cu_seqlens_.size() - 1, space, commit);
    }

  private:
    std::span<const T> cu_seqlens_;
};

/// A source (source.hpp): packed sequences and the slots that kernels process for them. The slots after the real
/// sequences are mock sequences: padded, not useful.
template <detail::integer T, detail::integer S>
class packed_slots {
  public:
    using sample = sequence;

    /// Takes as many boundaries of slots as of sequences, of which the first `num_real_seqs` are real. Where there are
    /// no slots of their own pass `cu_seqlens` twice.
    constexpr packed_slots(std::span<const T> cu_seqlens, std::span<const S> cu_seqlens_padded,
                           std::size_t num_real_seqs = all_sequences)
        : packed_slots(cu_seqlens, "cu_seqlens", cu_seqlens_padded, "cu_seqlens_padded", num_real_seqs, false) {}

    /// A packed row by the boundaries of its real sequences alone, and those of all slots, which may be more: the form
    /// that a collator leaves which keeps the boundaries from before it appended mock sequences. Errors call the slots
    /// `slots_field`.
    [[nodiscard]] static constexpr packed_slots of_real(std::span<const T> cu_seqlens_real, std::span<const S> slots,
                                                        std::string_view slots_field = "cu_seqlens") {
        return {cu_seqlens_real, "cu_seqlens_real", slots, slots_field, all_sequences, true};
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        sum({mask_set{}, nullptr, nullptr}, detail::takes_sums{});  // throws what is wrong
        const std::size_t real = real_sequences();
        for (std::size_t i = 0; i + 1 < slots_.size(); ++i) {
            visit(sequence{.length = i < real ? static_cast<std::uint32_t>(real_[i + 1] - real_[i]) : 0},
                  sequence{.length = static_cast<std::uint32_t>(slots_[i + 1] - slots_[i])});
        }
    }

    template <class Commit>
    constexpr void sum(const detail::sum_space& space, Commit commit) const {
        detail::require_modality(space.masks(), modality::text, "lengths");
        // Validates every boundary, also those of mock sequences, and before the slots, which may be the same.
        const auto lengths = detail::between(real_.data(), real_.size(), real_field_);
        const std::size_t all = real_.size() - 1;
        const std::size_t real = real_sequences();
        const std::size_t summed = detail::smaller(real, all);
        const detail::borrowed_sums useful = detail::sums_of(lengths, summed, space, view::useful);
        detail::check_more(lengths, summed, all, useful);
        const auto slots = detail::between(slots_.data(), slots_.size(), slots_field_);
        const detail::borrowed_sums padded = detail::sums_of(slots, slots_.size() - 1, space, view::padded);
        require_counts();
        detail::require_room(real_.data(), slots_.data(), real, slots_field_);
        commit(useful, padded);
    }

  private:
    constexpr packed_slots(std::span<const T> real, std::string_view real_field, std::span<const S> slots,
                           std::string_view slots_field, std::size_t num_real_seqs, bool may_be_fewer)
        : real_(real),
          slots_(slots),
          real_field_(real_field),
          slots_field_(slots_field),
          num_real_seqs_(num_real_seqs),
          may_be_fewer_(may_be_fewer) {}

    [[nodiscard]] constexpr std::size_t real_sequences() const {
        return num_real_seqs_ == all_sequences ? real_.size() - 1 : num_real_seqs_;
    }

    constexpr void require_counts() const {
        if (may_be_fewer_ && real_.size() > slots_.size()) {
            detail::refuse_boundary_count(real_field_, real_.size(), slots_field_, slots_.size());
        }
        if (!may_be_fewer_ && real_.size() != slots_.size()) {
            detail::refuse_boundary_count(slots_field_, slots_.size(), real_field_, real_.size());
        }
        if (real_sequences() > real_.size() - 1) {
            detail::refuse_real_sequences(num_real_seqs_, real_.size() - 1);
        }
    }

    std::span<const T> real_;
    std::span<const S> slots_;
    std::string_view real_field_;
    std::string_view slots_field_;
    std::size_t num_real_seqs_;
    bool may_be_fewer_;
};

template <detail::integer_range Boundaries>
packed_sequences(const Boundaries& cu_seqlens) -> packed_sequences<detail::element_of<Boundaries>>;
template <detail::integer_range Boundaries, detail::integer_range Slots, class... More>
packed_slots(const Boundaries& cu_seqlens, const Slots& slots, More... more)
    -> packed_slots<detail::element_of<Boundaries>, detail::element_of<Slots>>;

/// A packed row by the boundaries of its real sequences, `cu_seqlens_real`, and those of all its slots.
template <detail::integer_range Boundaries, detail::integer_range Slots>
[[nodiscard]] constexpr auto packed_real(const Boundaries& cu_seqlens_real, const Slots& slots,
                                         std::string_view slots_field = "cu_seqlens") {
    return packed_slots<detail::element_of<Boundaries>, detail::element_of<Slots>>::of_real(cu_seqlens_real, slots,
                                                                                            slots_field);
}

}  // namespace floptally
