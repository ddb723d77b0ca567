// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/packed.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/sequence.hpp>

/// @file
/// Lengths in device memory, eight at a time where all eight are plain, else one by one. A list of them has
/// - `shape`: of its blocks, with `views`: 1 where every sequence fills its slot, else 2;
/// - `bytes` that are read for each;
/// - `size()`: how many there are;
/// - `load(first, group)`: the eight of each view from `first` on, a multiple of 8, 0 for those after the last; says
///   whether all are surely right and below `plain_limit`, without which the group means nothing;
/// - `find(i, why)`: whether number i is right, or why not; `length(i, seen)`: of each view, where it is.

namespace floptally::detail {

inline constexpr std::size_t group_size = 8;

/// Loads 16 bytes of integers, aligned to 16 bytes, in one load.
template <std::integral T>
FLOPTALLY_HOST_DEVICE void load_16_bytes(const T* from, T* to) {
    constexpr std::size_t count = 16 / sizeof(T);
#if defined(__CUDA_ARCH__)
    const uint4 loaded = *reinterpret_cast<const uint4*>(from);
    const std::uint32_t words[] = {loaded.x, loaded.y, loaded.z, loaded.w};
    FLOPTALLY_UNROLLED
    for (std::size_t k = 0; k < count; ++k) {
        if constexpr (sizeof(T) == 8) {
            to[k] = static_cast<T>(words[2 * k] | (std::uint64_t{words[2 * k + 1]} << 32U));
        } else {
            constexpr std::size_t in_word = 4 / sizeof(T);
            to[k] = static_cast<T>(words[k / in_word] >> (8 * sizeof(T) * (k % in_word)));
        }
    }
#else
    std::copy_n(from, count, to);
#endif
}

/// True where memory is aligned to 16 bytes.
[[nodiscard]] inline bool lies_on_16_bytes(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory) % 16 == 0;
}

template <integer T>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_negative(T value) {
    if constexpr (std::is_signed_v<T>) {
        return value < 0;
    } else {
        return false;
    }
}

/// True where a number can be the length of a sequence.
template <integer T>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_length(T value) {
    return !is_negative(value) && static_cast<std::make_unsigned_t<T>>(value) <= max_sequence_length;
}

/// The number of elements in the group of eight from `first` on, of a list of `count`.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE std::uint32_t in_group(std::size_t first, std::size_t count) {
    const std::size_t left = count > first ? count - first : 0;
    return static_cast<std::uint32_t>(left < group_size ? left : group_size);
}

/// A list of lengths as given, or of the boundaries between them.
template <integer T, bool AreBoundaries>
class listed_numbers {
    using bits = std::make_unsigned_t<T>;
    static constexpr std::size_t per_group = group_size + (AreBoundaries ? 1 : 0);

  public:
    static constexpr block_shape shape{.threads = 256, .resident = 5, .units = 256 * group_size, .views = 1};
    static constexpr std::size_t bytes = sizeof(T);
    using unit = sequence;

    /// A list of `count` numbers; `field` is its name in errors, a text of the host.
    listed_numbers(const T* numbers, std::size_t count, const char* field = AreBoundaries ? "cu_seqlens" : "lengths")
        : numbers_(numbers), count_(count), field_(field), aligned_(lies_on_16_bytes(numbers)) {
        if (AreBoundaries && count == 0) {
            throw error(field, "needs at least one boundary");
        }
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count_ - (AreBoundaries ? 1 : 0); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool load(std::size_t first, std::uint32_t (*group)[group_size]) const {
        T at[per_group];
        if (aligned_ && first + group_size <= size()) {
            const T* const from = numbers_ + first;
            FLOPTALLY_UNROLLED
            for (std::size_t k = 0; k < group_size; k += 16 / sizeof(T)) {
                load_16_bytes(from + k, at + k);
            }
            if constexpr (AreBoundaries) {
                at[group_size] = from[group_size];
            }
        } else {
            const std::uint32_t left = in_group(first, size());
            const T* const from = numbers_ + (left != 0 ? first : size());
            for (std::uint32_t k = 0; k < per_group; ++k) {
                at[k] = AreBoundaries || k < left ? from[k < left ? k : left] : T{0};
            }
        }
        bits differences = 0;
        bits signs = static_cast<bits>(at[0]);
        const bits start = first == 0 ? signs : 0;
        FLOPTALLY_UNROLLED
        for (std::size_t k = 0; k < group_size; ++k) {
            const bits end = static_cast<bits>(at[k + per_group - group_size]);
            const bits length = AreBoundaries ? end - static_cast<bits>(at[k]) : end;
            signs |= end;
            differences |= length;
            group[0][k] = static_cast<std::uint32_t>(length);
        }
        // Boundaries without their sign bit are so small that no difference wraps.
        const bits wrong = AreBoundaries ? (signs >> (8 * sizeof(T) - 1)) | start : 0;
        return (differences / plain_limit | wrong) == 0;  // one comparison
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(std::size_t i, refusal& why) const {
        const T number = numbers_[i];
        if constexpr (AreBoundaries) {
            const T end = numbers_[i + 1];
            if (i == 0 && number != 0) {
                why = {refused::start, number, 0, field_};
                return false;
            }
            if (is_negative(number) || end < number ||
                static_cast<bits>(end) - static_cast<bits>(number) > max_sequence_length) {
                why = {refused::boundary, end, static_cast<std::uint64_t>(number), field_};
                return false;
            }
        } else if (!is_length(number)) {
            why = {refused::length, number, 0, field_};
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t length(std::size_t i, std::uint32_t /*seen*/ = 0) const {
        const bits start = AreBoundaries ? static_cast<bits>(numbers_[i]) : 0;
        return static_cast<std::uint32_t>(static_cast<bits>(numbers_[i + (AreBoundaries ? 1 : 0)]) - start);
    }
    /// The refusal of a sequence that does not fit its slot, where this list gives the slots.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE refusal no_room(std::uint32_t real, std::uint32_t slot) const {
        return {refused::slot, real, slot, field_};
    }

  private:
    const T* numbers_;
    std::size_t count_;
    const char* field_;
    bool aligned_;
};
template <integer T>
using listed_lengths = listed_numbers<T, false>;
template <integer T>
using listed_boundaries = listed_numbers<T, true>;

/// Slots of one length: the rows of a BSHD batch.
struct equal_slots {
    static constexpr std::size_t bytes = 0;
    std::size_t rows;
    std::uint32_t row_length;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return rows; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool load(std::size_t first, std::uint32_t (*group)[group_size]) const {
        const std::uint32_t left = in_group(first, rows);
        FLOPTALLY_UNROLLED
        for (std::uint32_t k = 0; k < group_size; ++k) {
            group[0][k] = k < left ? row_length : 0;
        }
        return row_length < plain_limit;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(std::size_t /*i*/, refusal& /*why*/) const { return true; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t length(std::size_t /*i*/) const { return row_length; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE refusal no_room(std::uint32_t real, std::uint32_t slot) const {
        return {refused::in_row, real, slot};
    }
};

/// Sequences and their slots. Those from `num_real` on hold no real token, and the list of the real ones may end there;
/// the number is given by the host or is a word of the device.
template <class Real, class Slots, integer N = std::int32_t>
class padded {
  public:
    static constexpr block_shape shape{.threads = 128, .resident = 10, .units = 128 * group_size, .views = 2};
    static constexpr std::size_t bytes = Real::bytes + Slots::bytes;
    using unit = sequence;

    padded(const Real& real, const Slots& slots, std::size_t num_real = all_sequences)
        : real_(real), slots_(slots), num_real_(std::min(num_real, real.size())) {}
    padded(const Real& real, const Slots& slots, const N* num_real) : real_(real), slots_(slots), told_(num_real) {}

    /// Reads the number of real sequences from the device, before any other call; where it is wrong, returns false with
    /// the reason.
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
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool load(std::size_t first, std::uint32_t (*group)[group_size]) const {
        bool plain = real_.load(first, group);
        plain = slots_.load(first, group + 1) && plain;
        const std::uint32_t left = in_group(first, num_real_);
        FLOPTALLY_UNROLLED
        for (std::uint32_t k = 0; k < group_size; ++k) {
            group[0][k] = k < left ? group[0][k] : 0;
            plain = plain && group[0][k] <= group[1][k];
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

/// A pack by the boundaries of its sequences and of their slots; `padded_rows` are the rows of a BSHD batch by their
/// lengths.
template <integer T, integer S, integer N = std::int32_t>
using padded_boundaries = padded<listed_boundaries<T>, listed_boundaries<S>, N>;
template <integer T>
using padded_rows = padded<listed_lengths<T>, equal_slots>;

/// A pack with as many boundaries of sequences as of slots, of which the first `num_real_seqs` are real; the host knows
/// the number.
template <integer T, integer S>
[[nodiscard]] padded_boundaries<T, S> pack_of(const T* cu_seqlens, const S* cu_seqlens_padded, std::size_t count,
                                              std::size_t num_real_seqs) {
    if (num_real_seqs != all_sequences && num_real_seqs > count - 1) {
        refuse_real_sequences(num_real_seqs, count - 1);
    }
    return {{cu_seqlens, count}, {cu_seqlens_padded, count, "cu_seqlens_padded"}, num_real_seqs};
}
/// A pack as above, whose number of real sequences is a word of the device.
template <integer T, integer S, integer N>
[[nodiscard]] padded_boundaries<T, S, N> pack_of(const T* cu_seqlens, const S* cu_seqlens_padded, std::size_t count,
                                                 const N* num_real_seqs) {
    return {{cu_seqlens, count}, {cu_seqlens_padded, count, "cu_seqlens_padded"}, num_real_seqs};
}
/// A pack by the boundaries of the real sequences alone and of all slots.
template <integer T, integer S>
[[nodiscard]] padded_boundaries<T, S> real_pack_of(const T* cu_seqlens_real, std::size_t real_count,
                                                   const S* cu_seqlens, std::size_t count) {
    const listed_boundaries<T> real(cu_seqlens_real, real_count, "cu_seqlens_real");
    const listed_boundaries<S> slots(cu_seqlens, count);
    if (real_count > count) {
        refuse_boundary_count("cu_seqlens_real", real_count, "cu_seqlens", count);
    }
    return {real, slots};
}

}  // namespace floptally::detail
