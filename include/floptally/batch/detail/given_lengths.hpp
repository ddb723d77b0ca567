// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/rules/sequence.hpp>

namespace floptally::detail {

/// Lengths as given. A list of lengths has
/// - `checked(i)`: a length, or an error;
/// - `unchecked(i)`: the length modulo the width of T, for a vector loop;
/// - `unwrapped(first, n)`: whether n unchecked lengths are the true ones, where they add up to less than 2^31;
/// - `total(first, n, added)`: the sum of n lengths; a list that does not know it returns `added`, the sum of the
///   unchecked ones.
template <integer T>
struct given_lengths {
    const T* lengths;
    std::string_view field;

    [[nodiscard]] constexpr std::uint32_t checked(std::size_t i) const {
        if (std::cmp_less(lengths[i], 0) || std::cmp_greater(lengths[i], max_sequence_length)) {
            refuse_length(field, i, lengths[i]);
        }
        return static_cast<std::uint32_t>(lengths[i]);
    }

    [[nodiscard]] std::make_unsigned_t<T> unchecked(std::size_t i) const {
        return static_cast<std::make_unsigned_t<T>>(lengths[i]);
    }

    [[nodiscard]] bool unwrapped(std::size_t, std::size_t) const { return true; }

    [[nodiscard]] std::uint64_t total(std::size_t, std::size_t, std::uint32_t added) const { return added; }
};

/// Lengths as the differences of boundaries, where the first is 0.
template <integer T>
struct boundary_lengths {
    const T* boundaries;
    std::string_view field;

    [[nodiscard]] constexpr std::uint32_t checked(std::size_t i) const {
        if (boundaries[i + 1] < boundaries[i] ||
            std::cmp_greater(boundaries[i + 1] - boundaries[i], max_sequence_length)) {
            refuse_boundary(field, i + 1, boundaries[i], boundaries[i + 1]);
        }
        return static_cast<std::uint32_t>(boundaries[i + 1] - boundaries[i]);
    }

    [[nodiscard]] std::make_unsigned_t<T> unchecked(std::size_t i) const {
        using bits_type = std::make_unsigned_t<T>;
        return static_cast<bits_type>(boundaries[i + 1]) - static_cast<bits_type>(boundaries[i]);
    }

    /// True where no boundary wraps: one that does falls by 2^32 at least, and the others do not make up for that.
    [[nodiscard]] bool unwrapped(std::size_t first, std::size_t n) const {
        return boundaries[first] <= boundaries[first + n];
    }

    [[nodiscard]] std::uint64_t total(std::size_t first, std::size_t n, std::uint32_t /*added*/) const {
        return static_cast<std::uint64_t>(boundaries[first + n] - boundaries[first]);
    }
};

}  // namespace floptally::detail
