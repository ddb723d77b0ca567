// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail {

/// The number as a parameter; out of its range it is an `error` that names the parameter.
[[nodiscard]] constexpr std::int32_t in_range(const rule_parameter& parameter, whole_number auto number) {
    const auto value = static_cast<std::int64_t>(number);
    const bool has_wrapped = number > 0 && value < 0;
    if (has_wrapped || value < parameter.least || value > parameter.most) {
        refuse(parameter.name, {"must be from ", parameter.least, " to ", parameter.most, ", got ", number});
    }
    return static_cast<std::int32_t>(value);
}

/// The struct of the numbers of its text form; one out of the range of its parameter is an `error` that names it.
template <class Rule, whole_number... Numbers>
[[nodiscard]] constexpr Rule from_numbers(Numbers... numbers) {
    static_assert(sizeof...(numbers) == sizeof(Rule::parameters) / sizeof(rule_parameter));
    const rule_parameter* next = Rule::parameters;
    if constexpr (converts_parameters<Rule>) {
        const std::int64_t values[]{in_range(*next++, numbers)...};
        return Rule::from(values);
    } else {
        return Rule{in_range(*next++, numbers)...};
    }
}

/// The whole number that a text is; any other text is `error` at `field`.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::int64_t read_number(std::string_view text, std::string_view field) {
    const bool is_negative = !text.empty() && text.front() == '-';
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::int64_t value = 0;  // by hand: <charconv> would be a twentieth of the umbrella's compile time
    bool is_whole = text.size() > (is_negative ? 1U : 0U);
    for (const char letter : text.substr(is_negative ? 1 : 0)) {
        const int digit = letter - '0';
        is_whole = is_whole && digit >= 0 && digit <= 9 && value <= (most - digit) / 10;
        value = is_whole ? 10 * value + digit : 0;
    }
    if (!is_whole) {
        refuse(field, {"must be a whole number, got \"", text, "\""});
    }
    return is_negative ? -value : value;
}

/// Reads the numbers of "name(7,shift=3)": false where the name is another, `error` where they are not those of
/// `parameters`.
[[nodiscard, gnu::cold, gnu::noinline]] inline bool read_call(std::string_view text, std::string_view name,
                                                              const rule_parameter* parameters, std::size_t count,
                                                              std::int64_t* values) {
    if (text.substr(0, name.size()) != name || (text.size() > name.size() && text[name.size()] != '(')) {
        return false;
    }
    std::string_view rest = text.substr(name.size());
    if (!rest.empty() && (rest.back() != ')' || rest.size() < 3)) {
        refuse("rule", {"\"", text, "\": its numbers must stand in brackets"});
    }
    rest = rest.empty() ? rest : rest.substr(1, rest.size() - 2);
    for (std::size_t i = 0; i < count; ++i) {
        const rule_parameter& of = parameters[i];
        const std::size_t end = rest.find(',');
        std::string_view item = rest.substr(0, end);
        const std::size_t assigned = item.find('=');
        const bool is_named = assigned != std::string_view::npos;
        const bool is_own = of.fallback == rule_parameter::none ? !is_named && !item.empty()
                                                                : is_named && item.substr(0, assigned) == of.name;
        if (!is_own) {
            if (of.fallback == rule_parameter::none) {
                refuse("rule", {"\"", text, "\" lacks a number, ", of.name});
            }
            values[i] = of.fallback;
            continue;
        }
        values[i] = read_number(is_named ? item.substr(assigned + 1) : item, of.name);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    if (!rest.empty()) {
        refuse("rule", {"\"", text, "\" has \"", rest, "\" besides its numbers"});
    }
    return true;
}

}  // namespace floptally::detail
