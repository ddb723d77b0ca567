// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/integer/host_device.hpp>

/// @file
/// Eight lengths at a time, each as its last row m = L − 1, so that a length which is 0 or negative shows by its sign.
/// Every sum is linear in Σm, Σm² and, of min(m, keys) for each side of a window, the same.

namespace floptally::detail {

inline constexpr std::uint32_t group_size = 8;

/// The integer of so many bytes.
template <std::uint32_t Bytes>
using unsigned_of = std::conditional_t<Bytes == 8, std::uint64_t, std::uint32_t>;

/// Loads 16 bytes of integers, aligned to 16 bytes, in one load.
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

/// Bits of loaded numbers by which lists are not plain, asked once for all that a thread takes at a time.
struct group_flaws {
    std::uint32_t large = 0;     ///< of which none may reach `plain_limit`
    std::uint32_t negative = 0;  ///< of which none may have a sign
    std::uint32_t wrong = 0;     ///< of which none may be set

    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_plain() const {
        return (large / plain_limit | negative >> 31U | wrong) == 0;
    }
};

/// Loads the last rows of the eight lengths of a group, of a list that begins with 16 bytes of `from_groups`. `flaws`
/// say whether each is surely right: boundaries lie below 2^31.
template <class T, bool Boundaries>
FLOPTALLY_HOST_DEVICE void load_group(const void* from_groups, std::uint32_t last_row, std::uint32_t group,
                                      std::uint32_t (&rows)[group_size], group_flaws& flaws) {
    constexpr std::uint32_t more = Boundaries ? 1 : 0;
    const T* const from = static_cast<const T*>(from_groups) + std::size_t{group} * group_size;
    T at[group_size + more];
    constexpr std::uint32_t in_load = 16 / sizeof(T);
    constexpr auto high = [](T value) { return static_cast<std::uint32_t>(std::uint64_t{value} >> 32U); };
    FLOPTALLY_UNROLLED
    for (std::uint32_t k = 0; k < group_size; k += in_load) {
        load_16_bytes(from + k, at + k);
        flaws.wrong |= high(at[k]) | high(at[k + in_load - 1]);
    }
    if constexpr (Boundaries) {
        at[group_size] = from[group_size];
        flaws.wrong |= high(at[group_size]);
    }
    FLOPTALLY_UNROLLED
    for (std::uint32_t k = 0; k < group_size; ++k) {
        const auto begin = Boundaries ? static_cast<std::uint32_t>(at[k]) : 0U;
        rows[k] = static_cast<std::uint32_t>(at[k + more]) - begin + last_row;
        flaws.large |= rows[k];
    }
    if constexpr (Boundaries) {  // so small steps wrap once at most: the last one shows it
        flaws.negative |= static_cast<std::uint32_t>(at[0] | at[group_size]);
        flaws.wrong |= group == 0 ? static_cast<std::uint32_t>(at[0]) : 0U;
    }
}

/// Adds `Size` lengths, by their last rows, to a thread's sums of one view: their last rows, the squares of those and
/// what the sides of windows cap. `sum(i)` is sum `i`; the first is their number, which the caller adds.
template <std::uint32_t Sides, std::uint32_t Size, class Sum>
FLOPTALLY_HOST_DEVICE void add_rows_to(const Sum& sum, const word_schema& schema, const std::uint32_t (&rows)[Size]) {
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
        // n² − (2·keys − 1)n of n = min(m, keys): a number that is not positive, modulo 2^64.
        const std::uint32_t keys = schema.sides[i].plain_keys;
        std::uint32_t capped = 0;
        std::uint64_t more = sum(3 + i);
        FLOPTALLY_UNROLLED
        for (std::uint32_t k = 0; k < Size; ++k) {
            const std::uint32_t n = rows[k] < keys ? rows[k] : keys;
            capped += n;
            more += std::uint64_t{n} * n;
        }
        const std::int64_t product = std::int64_t{schema.sides[i].factor} * static_cast<std::int32_t>(capped);
        sum(3 + i) = more + static_cast<std::uint64_t>(product);
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
