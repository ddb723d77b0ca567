// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

/// Returns the number as a 32-bit parameter of a statistic. If the number is out of range, throws an `error` that names
/// the parameter.
[[nodiscard]] constexpr std::int32_t in_range(const statistic_parameter& parameter, whole_number auto number) {
    const auto value = static_cast<std::int64_t>(number);
    const bool has_wrapped = number > 0 && value < 0;
    if (has_wrapped || value < parameter.least || value > parameter.most) {
        refuse(parameter.name, {"must be from ", parameter.least, " to ", parameter.most, ", got ", number});
    }
    return static_cast<std::int32_t>(value);
}

/// Returns the struct of a statistic from the numbers in its text, such as 4096 in "sliding_window(4096)". If a number
/// is out of range, throws an `error` that names the parameter.
template <class Statistic, whole_number... Numbers>
[[nodiscard]] constexpr Statistic from_numbers(Numbers... numbers) {
    static_assert(sizeof...(numbers) == sizeof(Statistic::parameters) / sizeof(statistic_parameter));
    const statistic_parameter* next = Statistic::parameters;
    if constexpr (converts_parameters<Statistic>) {
        const std::int64_t values[]{in_range(*next++, numbers)...};
        return Statistic::from(values);
    } else {
        return Statistic{in_range(*next++, numbers)...};
    }
}

/// Reads a whole number. For any other text throws an `error` that names `field`.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::int64_t read_number(std::string_view text, std::string_view field) {
    const bool is_negative = !text.empty() && text.front() == '-';
    constexpr std::int64_t most = INT64_MAX;
    std::int64_t value = 0;  // parsed by hand, because <charconv> would add 5 % to the compile time of floptally.hpp
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

/// Reads the numbers of a call such as "name(7,shift=3)". Returns false if the text has another name. Throws `error` if
/// its numbers do not match `parameters`.
[[nodiscard, gnu::cold, gnu::noinline]] inline bool read_call(std::string_view text, std::string_view name,
                                                              const statistic_parameter* parameters, std::size_t count,
                                                              std::int64_t* values) {
    if (text.substr(0, name.size()) != name || (text.size() > name.size() && text[name.size()] != '(')) {
        return false;
    }
    std::string_view rest = text.substr(name.size());
    if (!rest.empty() && (rest.back() != ')' || rest.size() < 3)) {
        refuse("statistic", {"\"", text, "\": write its numbers in brackets, as in \"", name, "(8)\""});
    }
    rest = rest.empty() ? rest : rest.substr(1, rest.size() - 2);
    for (std::size_t i = 0; i < count; ++i) {
        const statistic_parameter& parameter = parameters[i];
        const std::size_t end = rest.find(',');
        std::string_view item = rest.substr(0, end);
        const std::size_t assigned = item.find('=');
        const bool is_named = assigned != std::string_view::npos;
        const bool is_own = parameter.fallback == statistic_parameter::none
                                ? !is_named && !item.empty()
                                : is_named && item.substr(0, assigned) == parameter.name;
        if (!is_own) {
            if (parameter.fallback == statistic_parameter::none) {
                refuse("statistic",
                       {"\"", text, "\" lacks a number: write ", parameter.name, " in brackets after \"", name, "\""});
            }
            values[i] = parameter.fallback;
            continue;
        }
        values[i] = read_number(is_named ? item.substr(assigned + 1) : item, parameter.name);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    if (!rest.empty()) {
        refuse("statistic", {"\"", text, "\" has characters after its end: remove \"", rest, "\""});
    }
    return true;
}

}  // namespace floptally::detail
