// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include <floptally/parallel/index_range.hpp>

namespace floptally::detail {

/// All of `text` as a number, else nothing.
template <class Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text) {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// "3" or "1-30", both ends included, as layers of a model; else nothing.
[[nodiscard]] inline std::optional<index_range> layers_of_text(std::string_view text) {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto first = whole_number<std::uint64_t>(text.substr(0, dash));
    const auto last = dash == text.size() ? first : whole_number<std::uint64_t>(text.substr(dash + 1));
    if (!first || !last || *last < *first || *last == ~std::uint64_t{0}) {
        return {};
    }
    return index_range{*first, *last + 1};
}

}  // namespace floptally::detail
