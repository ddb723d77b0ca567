// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/cuda/detail/accumulator_schema.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/integer/host_device.hpp>

/// @file
/// Groups of eight lengths. Each length L is stored as m = L − 1, the index of the last token, so that lengths of 0 or
/// below are negative. The kernels compute Σm and Σm². For each window side of `keys` keys they also sum n and n², with
/// n = min(m, keys). Every accumulator is a linear function of these sums.

namespace floptally::inline v0_3::detail {

inline constexpr std::uint32_t group_size = 8;

/// The unsigned integer type of `Bytes` bytes.
template <std::uint32_t Bytes>
using unsigned_of = std::conditional_t<Bytes == 8, std::uint64_t, std::uint32_t>;

/// Loads 16 bytes of integers with one instruction. The address must be aligned to 16 bytes.
template <std::integral T>
FLOPTALLY_HOST_DEVICE void load_16_bytes(const T* from, T* to) {
    constexpr std::size_t count = 16 / sizeof(T);
#if defined(FLOPTALLY_ON_DEVICE)
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

/// Bits that show whether a group of lengths is plain (every length is valid and at most `plain_limit`). A thread
/// collects the bits of all numbers of a group and checks them once.
struct group_flaws {
    std::uint32_t large = 0;     ///< bitwise OR of all values that must be below `plain_limit`
    std::uint32_t negative = 0;  ///< bitwise OR of all values that must not be negative
    std::uint32_t wrong = 0;     ///< bitwise OR of all bits that must be 0

    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_plain() const {
        return (large / plain_limit | negative >> 31U | wrong) == 0;
    }
};

/// Loads the eight lengths of a group as m = length − 1. `from_groups` is the aligned start of the list. Sets bits in
/// `flaws` if a length or boundary may be invalid. A boundary of 2^31 or more counts as possibly invalid.
template <class T, bool Boundaries>
FLOPTALLY_HOST_DEVICE void load_group(const void* from_groups, std::uint32_t last_row, std::uint32_t group,
                                      std::uint32_t (&rows)[group_size], group_flaws& flaws) {
    constexpr std::uint32_t extra = Boundaries ? 1 : 0;
    const T* const from = static_cast<const T*>(from_groups) + std::size_t{group} * group_size;
    T numbers[group_size + extra];
    constexpr std::uint32_t in_load = 16 / sizeof(T);
    constexpr auto high = [](T value) { return static_cast<std::uint32_t>(std::uint64_t{value} >> 32U); };
    FLOPTALLY_UNROLLED
    for (std::uint32_t k = 0; k < group_size; k += in_load) {
        load_16_bytes(from + k, numbers + k);
        flaws.wrong |= high(numbers[k]) | high(numbers[k + in_load - 1]);
    }
    if constexpr (Boundaries) {
        numbers[group_size] = from[group_size];
        flaws.wrong |= high(numbers[group_size]);
    }
    FLOPTALLY_UNROLLED
    for (std::uint32_t k = 0; k < group_size; ++k) {
        const auto begin = Boundaries ? static_cast<std::uint32_t>(numbers[k]) : 0U;
        rows[k] = static_cast<std::uint32_t>(numbers[k + extra]) - begin + last_row;
        flaws.large |= rows[k];
    }
    // If the lengths pass the checks above, the group's boundaries wrap around at most once. The first or the last
    // boundary is then negative.
    if constexpr (Boundaries) {
        flaws.negative |= static_cast<std::uint32_t>(numbers[0] | numbers[group_size]);
        flaws.wrong |= group == 0 ? static_cast<std::uint32_t>(numbers[0]) : 0U;
    }
}

/// Adds `Size` lengths, given as m = L − 1, to a thread's sums of one view. `sum(1)` is Σm and `sum(2)` is Σm². After
/// them, each window side has a sum that depends on min(m, keys). The caller adds the number of lengths to `sum(0)`.
template <std::uint32_t Sides, std::uint32_t Size, class Sum>
FLOPTALLY_HOST_DEVICE void add_rows_to(const Sum& sum, const accumulator_schema& schema,
                                       const std::uint32_t (&rows)[Size]) {
    std::uint32_t last_rows = 0;
    std::uint64_t squares = sum(2);
    FLOPTALLY_UNROLLED
    for (std::uint32_t k = 0; k < Size; ++k) {
        last_rows += rows[k];
        squares += std::uint64_t{rows[k]} * rows[k];
    }
    sum(1) = sum(1) + last_rows;
    sum(2) = squares;
    const auto add_side = [&](std::uint32_t i) {
        // Adds n² − (2·keys − 1)n for n = min(m, keys). This amount is never positive, so it is added modulo 2^64.
        const std::uint32_t keys = schema.sides[i].plain_keys;
        std::uint32_t capped = 0;
        std::uint64_t total = sum(3 + i);
        FLOPTALLY_UNROLLED
        for (std::uint32_t k = 0; k < Size; ++k) {
            const std::uint32_t n = rows[k] < keys ? rows[k] : keys;
            capped += n;
            total += std::uint64_t{n} * n;
        }
        const std::int64_t product = std::int64_t{schema.sides[i].factor} * static_cast<std::int32_t>(capped);
        sum(3 + i) = total + static_cast<std::uint64_t>(product);
    };
    if constexpr (Size > 1) {
        FLOPTALLY_UNROLLED
        for (std::uint32_t i = 0; i != Sides; ++i) {
            add_side(i);
        }
    } else {
        FLOPTALLY_ROLLED
        for (std::uint32_t i = 0; i != Sides; ++i) {
            add_side(i);
        }
    }
}

}  // namespace floptally::detail
