// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/lists/array_view.hpp>
#include <floptally/rules/library_rules.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/rule_table.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/rules/table_of.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `rule_named("sliding_window(4096)")`: a rule from its text.

namespace floptally {

namespace detail {

/// The tables of these structs.
template <class... Rules>
inline constexpr const rule_table* tables_of[]{&table_of<Rules>...};

/// The tables of a list of rules, in its order.
template <class... Rules>
[[nodiscard]] constexpr array_view<const rule_table*> tables_in(rule_list<Rules...> /*list*/) {
    return tables_of<Rules...>;
}

/// Reads a rule of the first table whose text form it is; false where it is of none.
[[nodiscard, gnu::cold, gnu::noinline]] inline bool read_rule(std::string_view text, rule& made,
                                                              array_view<const rule_table*> tables) {
    rule_parameters words{};
    for (const rule_table* table : tables) {
        if (read_words(*table, text, words)) {
            for (const rule_table* other : tables) {
                require_own_name(*table, *other, "rule");
            }
            made = rule(*table, words);
            return true;
        }
    }
    return false;
}

/// The rule of a text with or without the name of a modality before it; `error` where no table reads it.
[[nodiscard, gnu::cold, gnu::noinline]] inline rule rule_of_text(std::string_view text,
                                                                 array_view<const rule_table*> tables) {
    std::string_view own = text;
    rule made;
    for (std::size_t in = 0; in < modality_count; ++in) {
        const std::string prefix = text_of({modality_names[in], "."});
        if (own.substr(0, prefix.size()) == prefix) {
            own.remove_prefix(prefix.size());
            if (read_rule(own, made, tables)) {
                return made.in(static_cast<modality>(in));
            }
        }
    }
    if (!read_rule(own, made, tables) || made.in() != modality::text) {
        refuse("rule", {"\"", text, "\" is none that is known here"});
    }
    return made;
}

}  // namespace detail

/// The rule whose `rule::name` is this text, the library's or one of `Rules`: "sliding_window(4096)",
/// "vision.grid_windows(7,shift=3)". Any other text is `error`.
template <statistic_rule... Rules>
[[nodiscard]] rule rule_named(std::string_view text) {
    return detail::rule_of_text(text, detail::tables_in(library_rules::with<Rules...>{}));
}

}  // namespace floptally
