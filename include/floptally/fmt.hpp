// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/text/macros_begin.hpp>

#include <concepts>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include <floptally/count/breakdown.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/step/utilization.hpp>

/// @file
/// Adapter for {fmt} 9.1 or later: `fmt::print("{}", work.total())`. Formats FLOPs, breakdowns, utilizations, masks and
/// names.

namespace floptally::inline v0_3::detail {

[[nodiscard]] inline std::string_view fmt_text(view seen) { return name_of(seen); }
[[nodiscard]] inline std::string_view fmt_text(phase during) { return name_of(during); }
[[nodiscard]] inline std::string_view fmt_text(accumulator what) { return name_of(what); }
[[nodiscard]] inline std::string_view fmt_text(const component_name& name) { return name.view(); }
[[nodiscard]] inline std::string fmt_text(const breakdown& work) { return to_string(work); }
[[nodiscard]] inline std::string fmt_text(const utilization& rates) { return to_string(rates); }
[[nodiscard]] inline std::string fmt_text(const statistic& shown) { return shown.name(); }

/// The floptally types that {fmt} formats as text. They take the format specifications of a string.
template <class T>
concept formatted_as_text = std::same_as<T, view> || std::same_as<T, phase> || std::same_as<T, accumulator> ||
    std::same_as<T, component_name> || std::same_as<T, breakdown> || std::same_as<T, utilization> ||
    std::derived_from<T, statistic>;

}  // namespace floptally::detail

/// Formats FLOPs with the specifications of an integer: `{}`, `{:>20}`, `{:L}` (with the locale's thousands
/// separators).
template <>
struct fmt::formatter<floptally::flops> : fmt::formatter<floptally::uint128> {
    template <class Context>
    auto format(floptally::flops count, Context& context) const {
        return fmt::formatter<floptally::uint128>::format(count.value(), context);
    }
};

template <floptally::detail::formatted_as_text T>
struct fmt::formatter<T> : fmt::formatter<std::string_view> {
    template <class Context>
    auto format(const T& shown, Context& context) const {
        const auto text = floptally::detail::fmt_text(shown);
        return fmt::formatter<std::string_view>::format(std::string_view(text), context);
    }
};

#include <floptally/text/macros_end.hpp>
