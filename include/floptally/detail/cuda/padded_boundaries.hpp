// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/detail/cuda/block.hpp>
#include <floptally/detail/cuda/length_lists.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/length_refusals.hpp>
#include <floptally/host_device.hpp>

/// @file
/// Lists of sequences and of their slots (length_lists.hpp): a pack by two lists of boundaries, rows of a BSHD batch.

namespace floptally::detail {

/// Slots of one length: rows of a BSHD batch.
class equal_slots {
  public:
    equal_slots(std::size_t count, std::uint32_t length) : count_(count), length_(length) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool load(std::size_t first, length_group<1>& group) const {
        const std::uint32_t left = in_group(first, count_);
        FLOPTALLY_UNROLLED
        for (std::uint32_t k = 0; k < group_size; ++k) {
            group.of[0][k] = k < left ? length_ : 0;
        }
        return length_ < plain_limit;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(std::size_t /*i*/, refusal& /*why*/) const { return true; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t slot(std::size_t /*i*/) const { return length_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE refusal no_room(std::uint32_t real, std::uint32_t slot) const {
        return {refused::in_row, real, slot};
    }

  private:
    std::size_t count_;
    std::uint32_t length_;
};

/// Sequences and their slots. Those from `num_real` on hold nothing real, and the list of the real ones may end there.
template <class Real, class Slots>
class padded {
  public:
    static constexpr std::uint32_t views = 2;

    padded(const Real& real, const Slots& slots) : real_(real), slots_(slots), num_real_(real.size()) {}

    /// The same, of which so many are real.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE padded of(std::size_t num_real) const {
        padded counted = *this;
        counted.num_real_ = num_real;
        return counted;
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return slots_.size(); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool load(std::size_t first, length_group<2>& group) const {
        length_group<1> real;
        length_group<1> slots;
        bool plain = real_.load(first, real);
        plain = slots_.load(first, slots) && plain;
        const std::uint32_t left = in_group(first, num_real_);
        FLOPTALLY_UNROLLED
        for (std::uint32_t k = 0; k < group_size; ++k) {
            group.of[0][k] = k < left ? real.of[0][k] : 0;
            group.of[1][k] = slots.of[0][k];
            plain = plain && group.of[0][k] <= group.of[1][k];
        }
        return plain;
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(std::size_t i, refusal& why) const {
        if ((i < real_.size() && !real_.find(i, why)) || !slots_.find(i, why)) {
            return false;
        }
        if (slot(i) < real(i)) {
            why = slots_.no_room(real(i), slot(i));
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(std::size_t i) const {
        return i < num_real_ ? real_.real(i) : 0;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t slot(std::size_t i) const { return slots_.slot(i); }

  private:
    Real real_;
    Slots slots_;
    std::size_t num_real_;
};

/// Boundaries of sequences and of their slots; and rows of a BSHD batch by their lengths.
template <integer T, integer S>
using padded_boundaries = padded<listed_boundaries<T>, listed_boundaries<S>>;
template <integer T>
using padded_rows = padded<listed_lengths<T>, equal_slots>;

/// Both of a pack, with as many boundaries; or those of the real sequences alone, and of all slots.
template <integer T, integer S>
[[nodiscard]] padded_boundaries<T, S> pack_of(const T* cu_seqlens, const S* cu_seqlens_padded, std::size_t count) {
    return {{cu_seqlens, count}, {cu_seqlens_padded, count, input_field::cu_seqlens_padded}};
}
template <integer T, integer S>
[[nodiscard]] padded_boundaries<T, S> pack_of(const T* cu_seqlens_real, std::size_t real_count, const S* cu_seqlens,
                                              std::size_t count) {
    return {{cu_seqlens_real, real_count, input_field::cu_seqlens_real}, {cu_seqlens, count}};
}

/// How many sequences of a pack are real: known to the host, or a word of the device.
template <integer N>
class real_sequences {
  public:
    explicit real_sequences(std::size_t number) : number_(number) {}
    explicit real_sequences(const N* word) : word_(word) {}

    /// False where it is more than there are sequences, or below 0.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_valid(std::size_t sequences) const {
        return word_ == nullptr || (!is_negative(*word_) && static_cast<std::make_unsigned_t<N>>(*word_) <= sequences);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t number() const {
        return word_ == nullptr ? number_ : static_cast<std::size_t>(*word_);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE refusal why(std::size_t sequences) const {
        return {refused::num_real_seqs, static_cast<std::uint64_t>(*word_), std::is_signed_v<N>, sequences};
    }

  private:
    std::size_t number_ = 0;
    const N* word_ = nullptr;
};

}  // namespace floptally::detail
