// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/length_sums.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A caller's integers of any width and sign, as 64 bits without a sign.

namespace floptally::detail {

/// Integers of any width that a caller has, signed or not, as 64 bits without a sign. A negative one is an error.
template <integer_range Integers>
[[nodiscard]] std::vector<std::uint64_t> nonnegative(const Integers& integers, std::string_view field) {
    const std::span given{integers};
    std::vector<std::uint64_t> values;
    values.reserve(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (std::cmp_less(given[i], 0)) {
            throw error(indexed(field, i), "must be at least 0, got " + std::to_string(given[i]));
        }
        values.push_back(static_cast<std::uint64_t>(given[i]));
    }
    return values;
}

/// Such integers, each of which must be below `bound`, which the error calls `bound_name`.
template <integer_range Integers>
[[nodiscard]] std::vector<std::uint64_t> nonnegative_below(std::uint64_t bound, std::string_view bound_name,
                                                           const Integers& integers, std::string_view field) {
    std::vector<std::uint64_t> values = nonnegative(integers, field);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] >= bound) {
            require_below(bound, bound_name, values[i], indexed(field, i));
        }
    }
    return values;
}

}  // namespace floptally::detail
