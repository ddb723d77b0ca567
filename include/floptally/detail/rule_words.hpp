// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/host_device.hpp>

/// @file
/// A rule's struct as 32-bit words, and back; and the number of its name.

namespace floptally::detail {

template <std::size_t N>
struct int_words {
    std::int32_t of[N];
};
using rule_parameters = int_words<4>;

[[nodiscard]] constexpr bool operator==(const rule_parameters& a, const rule_parameters& b) {
    return a.of[0] == b.of[0] && a.of[1] == b.of[1] && a.of[2] == b.of[2] && a.of[3] == b.of[3];
}

template <class Rule>
inline constexpr std::size_t parameter_words = __is_empty(Rule) ? 0 : sizeof(Rule) / 4;

template <class Rule>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr Rule rule_from(const rule_parameters& words) {
    if constexpr (__is_empty(Rule)) {
        return Rule{};
    } else {
        int_words<parameter_words<Rule>> own{};
        for (std::size_t i = 0; i < parameter_words<Rule>; ++i) {
            own.of[i] = words.of[i];
        }
        return __builtin_bit_cast(Rule, own);
    }
}
template <class Rule>
[[nodiscard]] constexpr rule_parameters parameters_of(const Rule& made) {
    rule_parameters words{};
    if constexpr (!__is_empty(Rule)) {
        const auto own = __builtin_bit_cast(int_words<parameter_words<Rule>>, made);
        for (std::size_t i = 0; i < parameter_words<Rule>; ++i) {
            words.of[i] = own.of[i];
        }
    }
    return words;
}

/// FNV-1a of a name (draft-eastlake-fnv). Two rules of one number are told apart by their names.
[[nodiscard]] constexpr std::uint32_t id_of_name(std::string_view name) {
    std::uint32_t hash = 2166136261U;
    for (const char letter : name) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
    }
    return hash;
}
template <class Rule>
inline constexpr std::uint32_t id_of = id_of_name(Rule::name);

}  // namespace floptally::detail
