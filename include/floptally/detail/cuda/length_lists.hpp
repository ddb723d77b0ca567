// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/length_refusals.hpp>
#include <floptally/host_device.hpp>
#include <floptally/sequence.hpp>

/// @file
/// Lengths in device memory, eight at a time where all eight are plain, else one by one. A list of them has
/// - `views`: 1 where every sequence fills its slot, else 2;
/// - `size()`: how many there are;
/// - `load(first)`: a `group`, what eight of them are made of, `first` a multiple of 8; missing ones are empty;
/// - `is_plain(group, first)`: whether all eight are surely right and below `plain_limit`;
/// - `real(group, k)` and, with two views, `slot(group, k)`: the lengths of the k-th of a plain group;
/// - `find(i, why)`: whether number i is right, or why not; `real(i)` and `slot(i)`: its lengths, where it is.

namespace floptally::detail {

inline constexpr std::size_t group_size = 8;

/// With it eight squares add up far below 2^64, and eight lengths below 2^32.
inline constexpr std::uint64_t plain_limit = std::uint64_t{1} << 24U;

/// Eight integers that lie on 16 bytes, in loads of so many.
template <integer T>
FLOPTALLY_HOST_DEVICE void load_group(const T* from, T* to) {
#if defined(__CUDA_ARCH__)
    using vector = std::conditional_t<sizeof(T) == 4, uint4, ulonglong2>;
    constexpr std::size_t width = sizeof(vector) / sizeof(T);
#pragma unroll
    for (std::size_t k = 0; k < group_size; k += width) {
        const vector loaded = *reinterpret_cast<const vector*>(from + k);
        to[k] = static_cast<T>(loaded.x);
        to[k + 1] = static_cast<T>(loaded.y);
        if constexpr (width == 4) {
            to[k + 2] = static_cast<T>(loaded.z);
            to[k + 3] = static_cast<T>(loaded.w);
        }
    }
#else
    for (std::size_t k = 0; k < group_size; ++k) {
        to[k] = from[k];
    }
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

/// Lengths as given.
template <integer T>
class listed_lengths {
  public:
    static constexpr std::uint32_t views = 1;
    struct group {
        T lengths[group_size];
    };

    listed_lengths(const T* lengths, std::size_t count)
        : lengths_(lengths), count_(count), aligned_(lies_on_16_bytes(lengths)) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE group load(std::size_t first) const {
        group loaded{};
        if (aligned_ && first + group_size <= count_) {
            load_group(lengths_ + first, loaded.lengths);
        } else {
            for (std::size_t k = 0; k < group_size; ++k) {
                if (first + k < count_) {
                    loaded.lengths[k] = lengths_[first + k];
                }
            }
        }
        return loaded;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_plain(const group& loaded, std::size_t /*first*/) const {
        std::make_unsigned_t<T> all = 0;
        for (std::size_t k = 0; k < group_size; ++k) {
            all |= static_cast<std::make_unsigned_t<T>>(loaded.lengths[k]);
        }
        return all < plain_limit;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(const group& loaded, std::size_t k) const {
        return static_cast<std::uint32_t>(loaded.lengths[k]);
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(std::size_t i, refusal& why) const {
        if (!is_length(lengths_[i])) {
            why = refusal::length(lengths_[i], input_field::lengths);
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(std::size_t i) const {
        return static_cast<std::uint32_t>(lengths_[i]);
    }

  private:
    const T* lengths_;
    std::size_t count_;
    bool aligned_;
};

/// Lengths, all of them padded to one: rows of a BSHD batch.
template <integer T>
class listed_rows {
  public:
    static constexpr std::uint32_t views = 2;
    struct group {
        typename listed_lengths<T>::group rows;
        std::size_t first;
    };

    listed_rows(const T* lengths, std::size_t count, std::uint32_t row_length)
        : lengths_(lengths, count), row_length_(row_length) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return lengths_.size(); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE group load(std::size_t first) const { return {lengths_.load(first), first}; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_plain(const group& loaded, std::size_t first) const {
        bool fits = row_length_ < plain_limit && lengths_.is_plain(loaded.rows, first);
        for (std::size_t k = 0; k < group_size; ++k) {
            fits = fits && real(loaded, k) <= row_length_;
        }
        return fits;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(const group& loaded, std::size_t k) const {
        return lengths_.real(loaded.rows, k);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t slot(const group& loaded, std::size_t k) const {
        return loaded.first + k < size() ? row_length_ : 0;
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(std::size_t i, refusal& why) const {
        if (!lengths_.find(i, why)) {
            return false;
        }
        if (real(i) > row_length_) {
            why = {refused::in_row, real(i), row_length_};
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(std::size_t i) const { return lengths_.real(i); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t slot(std::size_t /*i*/) const { return row_length_; }

  private:
    listed_lengths<T> lengths_;
    std::uint32_t row_length_;
};

/// Lengths between boundaries.
template <integer T>
class listed_boundaries {
    using bits = std::make_unsigned_t<T>;

  public:
    static constexpr std::uint32_t views = 1;
    struct group {
        T boundaries[group_size + 1];
    };

    /// `count` boundaries, 1 at least.
    listed_boundaries(const T* boundaries, std::size_t count, input_field field = input_field::cu_seqlens)
        : boundaries_(boundaries), count_(count), field_(field), aligned_(lies_on_16_bytes(boundaries)) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count_ - 1; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE input_field field() const { return field_; }
    /// Behind the last boundary sequences are empty.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE group load(std::size_t first) const {
        group loaded;
        const T* const from = boundaries_ + first;
        if (aligned_ && first + group_size < count_) {
            load_group(from, loaded.boundaries);
            loaded.boundaries[group_size] = from[group_size];
        } else {
            for (std::size_t k = 0; k <= group_size; ++k) {
                loaded.boundaries[k] = boundaries_[first + k < count_ ? first + k : count_ - 1];
            }
        }
        return loaded;
    }
    /// Boundaries without a sign are so small that no difference wraps.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_plain(const group& loaded, std::size_t first) const {
        bits all = static_cast<bits>(loaded.boundaries[0]);
        const bits start = first == 0 ? all : 0;
        bits differences = 0;
        for (std::size_t k = 0; k < group_size; ++k) {
            const bits next = static_cast<bits>(loaded.boundaries[k + 1]);
            all |= next;
            differences |= next - static_cast<bits>(loaded.boundaries[k]);
        }
        return ((all >> (8 * sizeof(T) - 1)) | (differences / plain_limit) | start) == 0;  // one comparison
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(const group& loaded, std::size_t k) const {
        return static_cast<std::uint32_t>(static_cast<bits>(loaded.boundaries[k + 1]) -
                                          static_cast<bits>(loaded.boundaries[k]));
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(std::size_t i, refusal& why) const {
        const T before = boundaries_[i];
        const T boundary = boundaries_[i + 1];
        if (i == 0 && before != 0) {
            why = {refused::start, static_cast<std::uint64_t>(before), std::is_signed_v<T>,
                   static_cast<std::uint64_t>(field_)};
            return false;
        }
        if (is_negative(before) || boundary < before ||
            static_cast<bits>(boundary) - static_cast<bits>(before) > max_sequence_length) {
            why = {refused::boundary, static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(boundary),
                   std::is_signed_v<T>, static_cast<std::uint64_t>(field_)};
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(std::size_t i) const {
        return static_cast<std::uint32_t>(static_cast<bits>(boundaries_[i + 1]) - static_cast<bits>(boundaries_[i]));
    }

  private:
    const T* boundaries_;
    std::size_t count_;
    input_field field_;
    bool aligned_;
};

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
