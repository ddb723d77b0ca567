// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/integer/host_device.hpp>

/// @file
/// The parameters of a rule's struct as 32-bit integers, and back; the hash of its name.

namespace floptally::detail {

/// An array of N 32-bit integers.
template <std::size_t N>
struct int_words {
    std::int32_t of[N];
};
/// The parameters of a rule, zeros after the last.
using rule_parameters = int_words<4>;

[[nodiscard]] constexpr bool operator==(const rule_parameters& a, const rule_parameters& b) {
    return a.of[0] == b.of[0] && a.of[1] == b.of[1] && a.of[2] == b.of[2] && a.of[3] == b.of[3];
}

/// The number of 32-bit integers in a struct.
template <class Rule>
inline constexpr std::size_t parameter_words = __is_empty(Rule) ? 0 : sizeof(Rule) / 4;

/// The struct of these parameters.
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
/// The parameters of a struct.
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

/// The hash of a name: FNV-1a (draft-eastlake-fnv). Rules whose hashes are equal by chance are told apart by their
/// names.
[[nodiscard]] constexpr std::uint32_t id_of_name(std::string_view name) {
    std::uint32_t hash = 2166136261U;
    for (const char letter : name) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
    }
    return hash;
}
/// The hash of a struct's name.
template <class Rule>
inline constexpr std::uint32_t id_of = id_of_name(Rule::name);

/// The compiler's text of a function of this struct, with the struct's name and its namespaces in it.
template <class Rule>
[[nodiscard]] constexpr const char* spelled() {
    return __PRETTY_FUNCTION__;
}
/// The name in the text of `spelled`, such as "own::window": after the last "Rule = ", up to the closing bracket.
[[nodiscard]] constexpr std::string_view struct_in(std::string_view text) {
    const std::size_t sign = text.rfind("Rule =");
    const std::size_t first = sign == std::string_view::npos ? text.rfind("Rule=") : sign;
    const std::string_view rest = first == std::string_view::npos ? text : text.substr(text.find('=', first) + 1);
    const std::size_t blank = !rest.empty() && rest.front() == ' ' ? 1 : 0;
    return rest.substr(blank, rest.rfind(']') - blank);
}

}  // namespace floptally::detail
