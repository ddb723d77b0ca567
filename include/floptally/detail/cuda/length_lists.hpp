// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/detail/cuda/block.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/cuda/word_schema.hpp>
#include <floptally/detail/length_refusals.hpp>
#include <floptally/host_device.hpp>
#include <floptally/sequence.hpp>

/// @file
/// Lengths in device memory, eight at a time where all eight are plain, else one by one. A list of them has
/// - `shape`: of its blocks, with `views`: 1 where every sequence fills its slot, else 2;
/// - `bytes` that are read for each;
/// - `size()`: how many there are;
/// - `load(first, group)`: the eight from `first` on, a multiple of 8, with 0 for those behind the last; says whether
///   all are surely right and below `plain_limit`, without which the group means nothing;
/// - `find(i, why)`: whether number i is right, or why not; `length(i, seen)`: of each view, where it is.

namespace floptally::detail {

inline constexpr std::size_t group_size = 8;

/// Integers that lie on 16 bytes, in a load of so many.
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

template <integer T>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_length(T value) {
    return !is_negative(value) && static_cast<std::make_unsigned_t<T>>(value) <= max_sequence_length;
}

/// The eight that begin at an address of 16 bytes.
template <integer T>
FLOPTALLY_HOST_DEVICE void load_group(const T* from, T* to) {
    FLOPTALLY_UNROLLED
    for (std::size_t k = 0; k < group_size; k += 16 / sizeof(T)) {
        load_16_bytes(from + k, to + k);
    }
}

/// How many of the eight from `first` on there are among `count`.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE std::uint32_t in_group(std::size_t first, std::size_t count) {
    const std::size_t left = count > first ? count - first : 0;
    return static_cast<std::uint32_t>(left < group_size ? left : group_size);
}

/// With 48 registers for each thread.
inline constexpr block_shape of_lengths{.threads = 256, .resident = 5, .units = 256 * group_size, .views = 1};

/// Eight lengths of each view.
template <std::uint32_t Views>
struct length_group {
    std::uint32_t of[Views][group_size];
};

/// Lengths as given.
template <integer T>
class listed_lengths {
  public:
    static constexpr block_shape shape = of_lengths;
    static constexpr std::size_t bytes = sizeof(T);
    using unit = sequence;

    listed_lengths(const T* lengths, std::size_t count)
        : lengths_(lengths), count_(count), aligned_(lies_on_16_bytes(lengths)) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool load(std::size_t first, length_group<1>& group) const {
        T loaded[group_size]{};
        if (aligned_ && first + group_size <= count_) {
            load_group(lengths_ + first, loaded);
        } else {
            for (std::size_t k = 0; k < group_size; ++k) {
                if (first + k < count_) {
                    loaded[k] = lengths_[first + k];
                }
            }
        }
        std::make_unsigned_t<T> all = 0;
        FLOPTALLY_UNROLLED
        for (std::size_t k = 0; k < group_size; ++k) {
            all |= static_cast<std::make_unsigned_t<T>>(loaded[k]);
            group.of[0][k] = static_cast<std::uint32_t>(loaded[k]);
        }
        return all < plain_limit;
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(std::size_t i, refusal& why) const {
        if (!is_length(lengths_[i])) {
            why = {refused::length, lengths_[i]};
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t length(std::size_t i, std::uint32_t /*seen*/ = 0) const {
        return static_cast<std::uint32_t>(lengths_[i]);
    }

  private:
    const T* lengths_;
    std::size_t count_;
    bool aligned_;
};

/// Lengths between boundaries.
template <integer T>
class listed_boundaries {
    using bits = std::make_unsigned_t<T>;

  public:
    static constexpr block_shape shape = of_lengths;
    static constexpr std::size_t bytes = sizeof(T);
    using unit = sequence;

    /// `count` boundaries, 1 at least.
    listed_boundaries(const T* boundaries, std::size_t count, input_field field = input_field::cu_seqlens)
        : boundaries_(boundaries), count_(count), field_(field), aligned_(lies_on_16_bytes(boundaries)) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count_ - 1; }
    /// Boundaries without a sign are so small that no difference wraps.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool load(std::size_t first, length_group<1>& group) const {
        T at[group_size + 1];
        const T* const from = boundaries_ + first;
        if (aligned_ && first + group_size < count_) {
            load_group(from, at);
            at[group_size] = from[group_size];
        } else {
            for (std::size_t k = 0; k <= group_size; ++k) {
                at[k] = boundaries_[first + k < count_ ? first + k : count_ - 1];
            }
        }
        bits all = static_cast<bits>(at[0]);
        const bits start = first == 0 ? all : 0;
        bits differences = 0;
        FLOPTALLY_UNROLLED
        for (std::size_t k = 0; k < group_size; ++k) {
            const bits length = static_cast<bits>(at[k + 1]) - static_cast<bits>(at[k]);
            all |= static_cast<bits>(at[k + 1]);
            differences |= length;
            group.of[0][k] = static_cast<std::uint32_t>(length);
        }
        return ((all >> (8 * sizeof(T) - 1)) | (differences / plain_limit) | start) == 0;  // one comparison
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(std::size_t i, refusal& why) const {
        const T before = boundaries_[i];
        const T boundary = boundaries_[i + 1];
        if (i == 0 && before != 0) {
            why = {refused::start, before, 0, field_};
            return false;
        }
        if (is_negative(before) || boundary < before ||
            static_cast<bits>(boundary) - static_cast<bits>(before) > max_sequence_length) {
            why = {refused::boundary, boundary, static_cast<std::uint64_t>(before), field_};
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t length(std::size_t i, std::uint32_t /*seen*/ = 0) const {
        return static_cast<std::uint32_t>(static_cast<bits>(boundaries_[i + 1]) - static_cast<bits>(boundaries_[i]));
    }
    /// Why a sequence does not fit its slot, where these are slots.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE refusal no_room(std::uint32_t real, std::uint32_t slot) const {
        return {refused::slot, real, slot, field_};
    }

  private:
    const T* boundaries_;
    std::size_t count_;
    input_field field_;
    bool aligned_;
};

}  // namespace floptally::detail
