// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/lists/array_view.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_table.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `statistic_named("sliding_window(4096)")`: reads a statistic from its text.

namespace floptally::inline v0_3 {

namespace detail {

/// The function tables of the structs `Statistics`, in the same order.
template <class... Statistics>
inline constexpr const statistic_table* tables_of[]{&table_of<Statistics>...};

/// Returns the function tables of a list of statistics, in the order of the list.
template <class... Statistics>
[[nodiscard]] constexpr array_view<const statistic_table*> tables_in(statistic_list<Statistics...> /*list*/) {
    return tables_of<Statistics...>;
}

/// Reads a statistic with the first table whose struct has this text. Returns false if no struct has it.
[[nodiscard, gnu::cold, gnu::noinline]] inline bool read_statistic(std::string_view text, statistic& result,
                                                                   array_view<const statistic_table*> tables) {
    parameter_values parameters{};
    for (const statistic_table* table : tables) {
        if (read_parameters(*table, text, parameters)) {
            for (const statistic_table* other : tables) {
                require_own_name(*table, *other, "statistic");
            }
            result = statistic(*table, parameters);
            return true;
        }
    }
    return false;
}

/// Reads a statistic from a text, with or without a modality's name in front. Throws `error` if the text is not that of
/// a statistic.
[[nodiscard, gnu::cold, gnu::noinline]] inline statistic statistic_of_text(std::string_view text,
                                                                           array_view<const statistic_table*> tables) {
    std::string_view rest = text;
    statistic result;
    for (std::size_t i = 0; i < modality_count; ++i) {
        const std::string prefix = text_of({modality_names[i], "."});
        if (rest.substr(0, prefix.size()) == prefix) {
            rest.remove_prefix(prefix.size());
            if (read_statistic(rest, result, tables)) {
                return result.in(static_cast<modality>(i));
            }
        }
    }
    if (!read_statistic(rest, result, tables) || result.in() != modality::text) {
        refuse("statistic", {"\"", text, "\" is not a known statistic; write one such as \"sliding_window(4096)\""});
    }
    return result;
}

}  // namespace detail

/// Returns the statistic with this `statistic::name`, from the library or from `Statistics`: "sliding_window(4096)",
/// "vision.grid_windows(7,shift=3)". Throws `error` for any other text.
template <statistic_type... Statistics>
[[nodiscard]] statistic statistic_named(std::string_view text) {
    return detail::statistic_of_text(text, detail::tables_in(library_statistics::with<Statistics...>{}));
}

}  // namespace floptally
