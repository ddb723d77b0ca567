// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

/// @file
/// Reading of a number from a whole text.

namespace floptally::detail {

/// The number that is the whole of `text`; nothing where it is not one.
template <class Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text) {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace floptally::detail
