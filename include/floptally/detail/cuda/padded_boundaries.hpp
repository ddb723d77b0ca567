// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/batch/packed.hpp>
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
    static constexpr std::size_t bytes = 0;

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
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t length(std::size_t /*i*/) const { return length_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE refusal no_room(std::uint32_t real, std::uint32_t slot) const {
        return {refused::in_row, real, slot};
    }

  private:
    std::size_t count_;
    std::uint32_t length_;
};

/// Sequences and their slots. Those from `num_real` on hold nothing real, and the list of the real ones may end there;
/// how many that are the host says, or a word of the device.
template <class Real, class Slots, integer N = std::int32_t>
class padded {
  public:
    static constexpr block_shape shape{.threads = 128, .resident = 10, .units = 128 * group_size, .views = 2};
    static constexpr std::size_t bytes = Real::bytes + Slots::bytes;
    using unit = sequence;

    padded(const Real& real, const Slots& slots) : padded(real, slots, real.size()) {}
    padded(const Real& real, const Slots& slots, std::size_t num_real)
        : real_(real), slots_(slots), num_real_(num_real) {}
    padded(const Real& real, const Slots& slots, const N* num_real) : real_(real), slots_(slots), told_(num_real) {}

    /// Asks the device for what it knows, before all else; or says why that is wrong.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool begin(refusal& why) {
        if (told_ != nullptr) {
            const N told = *told_;
            if (is_negative(told) || static_cast<std::make_unsigned_t<N>>(told) > size()) {
                why = {refused::num_real_seqs, told, size()};
                return false;
            }
            num_real_ = static_cast<std::size_t>(told);
        }
        return true;
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
        if (length(i, 1) < length(i, 0)) {
            why = slots_.no_room(length(i, 0), length(i, 1));
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t length(std::size_t i, std::uint32_t seen) const {
        return seen == 1 ? slots_.length(i) : i < num_real_ ? real_.length(i) : 0;
    }

  private:
    Real real_;
    Slots slots_;
    std::size_t num_real_ = 0;
    const N* told_ = nullptr;
};

/// Boundaries of sequences and of their slots; and rows of a BSHD batch by their lengths.
template <integer T, integer S, integer N = std::int32_t>
using padded_boundaries = padded<listed_boundaries<T>, listed_boundaries<S>, N>;
template <integer T>
using padded_rows = padded<listed_lengths<T>, equal_slots>;

/// A pack by as many boundaries of sequences as of slots, the first `num_real_seqs` of them real, which the host knows.
template <integer T, integer S>
[[nodiscard]] padded_boundaries<T, S> pack_of(const T* cu_seqlens, const S* cu_seqlens_padded, std::size_t count,
                                              std::size_t num_real_seqs) {
    if (num_real_seqs != all_sequences && num_real_seqs > count - 1) {
        refuse_real_sequences(num_real_seqs, count - 1);
    }
    return {{cu_seqlens, count},
            {cu_seqlens_padded, count, input_field::cu_seqlens_padded},
            std::min(num_real_seqs, count - 1)};
}
/// The same, where the device knows.
template <integer T, integer S, integer N>
[[nodiscard]] padded_boundaries<T, S, N> pack_of(const T* cu_seqlens, const S* cu_seqlens_padded, std::size_t count,
                                                 const N* num_real_seqs) {
    return {{cu_seqlens, count}, {cu_seqlens_padded, count, input_field::cu_seqlens_padded}, num_real_seqs};
}
/// A pack by the boundaries of the real sequences alone, and of all slots.
template <integer T, integer S>
[[nodiscard]] padded_boundaries<T, S> real_pack_of(const T* cu_seqlens_real, std::size_t real_count,
                                                   const S* cu_seqlens, std::size_t count) {
    return {{cu_seqlens_real, real_count, input_field::cu_seqlens_real}, {cu_seqlens, count}};
}

}  // namespace floptally::detail
