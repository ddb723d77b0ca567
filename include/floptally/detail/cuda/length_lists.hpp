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
/// Lengths in device memory, four at a time. A list of them has
/// - `views`: 1 where every sequence fills its slot, else 2;
/// - `size()`: how many there are;
/// - `load(first)`: what four of them are made of, `first` a multiple of 4; missing ones are empty;
/// - `is_plain(four, first)`: whether all four are surely right and below `plain_limit`;
/// - `find(four, k, i, why)`: whether the k-th, which is number i, is right, or why not;
/// - `real(four, k)` and, with two views, `slot(four, k)`: its lengths, where it is right.

namespace floptally::detail {

/// With it four squares add up far below 2^64.
inline constexpr std::uint64_t plain_limit = std::uint64_t{1} << 24U;

/// Four integers, in one load or two where the array lies on 16 bytes.
template <integer T>
FLOPTALLY_HOST_DEVICE void load_four(const T* from, bool aligned, T* to) {
#if defined(__CUDA_ARCH__)
    if (aligned) {
        if constexpr (sizeof(T) == 4) {
            const uint4 four = *reinterpret_cast<const uint4*>(from);
            to[0] = static_cast<T>(four.x);
            to[1] = static_cast<T>(four.y);
            to[2] = static_cast<T>(four.z);
            to[3] = static_cast<T>(four.w);
        } else {
            const ulonglong2 low = reinterpret_cast<const ulonglong2*>(from)[0];
            const ulonglong2 high = reinterpret_cast<const ulonglong2*>(from)[1];
            to[0] = static_cast<T>(low.x);
            to[1] = static_cast<T>(low.y);
            to[2] = static_cast<T>(high.x);
            to[3] = static_cast<T>(high.y);
        }
        return;
    }
#endif
    static_cast<void>(aligned);
    for (std::size_t k = 0; k < 4; ++k) {
        to[k] = from[k];
    }
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
    struct four {
        T lengths[4];
    };

    listed_lengths(const T* lengths, std::size_t count)
        : lengths_(lengths), count_(count), aligned_(lies_on_16_bytes(lengths)) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE four load(std::size_t first) const {
        four loaded{};
        if (first + 4 <= count_) {
            load_four(lengths_ + first, aligned_, loaded.lengths);
        } else {
            for (std::size_t k = 0; k < 3; ++k) {
                if (first + k < count_) {
                    loaded.lengths[k] = lengths_[first + k];
                }
            }
        }
        return loaded;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_plain(const four& loaded, std::size_t /*first*/) const {
        using bits = std::make_unsigned_t<T>;
        return (static_cast<bits>(loaded.lengths[0]) | static_cast<bits>(loaded.lengths[1]) |
                static_cast<bits>(loaded.lengths[2]) | static_cast<bits>(loaded.lengths[3])) < plain_limit;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(const four& loaded, std::size_t k, std::size_t /*i*/,
                                                  refusal& why) const {
        if (!is_length(loaded.lengths[k])) {
            why = refusal::length(loaded.lengths[k], input_field::lengths);
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(const four& loaded, std::size_t k) const {
        return static_cast<std::uint32_t>(loaded.lengths[k]);
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
    struct four {
        typename listed_lengths<T>::four rows;
        std::size_t first;
    };

    listed_rows(const T* lengths, std::size_t count, std::uint32_t row_length)
        : lengths_(lengths, count), row_length_(row_length) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return lengths_.size(); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE four load(std::size_t first) const { return {lengths_.load(first), first}; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_plain(const four& /*loaded*/, std::size_t /*first*/) const {
        return false;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(const four& loaded, std::size_t k, std::size_t i,
                                                  refusal& why) const {
        if (!lengths_.find(loaded.rows, k, i, why)) {
            return false;
        }
        if (lengths_.real(loaded.rows, k) > row_length_) {
            why = {refused::in_row, lengths_.real(loaded.rows, k), row_length_};
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(const four& loaded, std::size_t k) const {
        return lengths_.real(loaded.rows, k);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t slot(const four& loaded, std::size_t k) const {
        return loaded.first + k < size() ? row_length_ : 0;
    }

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
    struct four {
        T boundaries[5];
    };

    /// `count` boundaries, 1 at least.
    listed_boundaries(const T* boundaries, std::size_t count, input_field field = input_field::cu_seqlens)
        : boundaries_(boundaries), count_(count), field_(field), aligned_(lies_on_16_bytes(boundaries)) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count_ - 1; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE input_field field() const { return field_; }
    /// Behind the last boundary sequences are empty.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE four load(std::size_t first) const {
        four loaded;
        if (first + 5 <= count_) {
            load_four(boundaries_ + first, aligned_, loaded.boundaries);
            loaded.boundaries[4] = boundaries_[first + 4];
        } else {
            for (std::size_t k = 0; k < 5; ++k) {
                loaded.boundaries[k] = boundaries_[first + k < count_ ? first + k : count_ - 1];
            }
        }
        return loaded;
    }
    /// Boundaries without a sign are so small that no difference wraps.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_plain(const four& loaded, std::size_t first) const {
        bits all = static_cast<bits>(loaded.boundaries[0]);
        bits differences = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            const bits next = static_cast<bits>(loaded.boundaries[k + 1]);
            all |= next;
            differences |= next - static_cast<bits>(loaded.boundaries[k]);
        }
        return (all >> (8 * sizeof(T) - 1)) == 0 && differences < plain_limit &&
               (first != 0 || loaded.boundaries[0] == 0);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(const four& loaded, std::size_t k, std::size_t i,
                                                  refusal& why) const {
        const T before = loaded.boundaries[k];
        const T boundary = loaded.boundaries[k + 1];
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
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(const four& loaded, std::size_t k) const {
        return static_cast<std::uint32_t>(static_cast<bits>(loaded.boundaries[k + 1]) -
                                          static_cast<bits>(loaded.boundaries[k]));
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
