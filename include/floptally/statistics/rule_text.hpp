// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/detail/array_view.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/detail/rule_table.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/statistics/library_rules.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/statistic_rule.hpp>

namespace floptally {

namespace detail {

template <class... Rules>
inline constexpr const rule_table* tables_of[]{&table_of<Rules>...};

/// The tables of a list of rules, in its order.
template <class... Rules>
[[nodiscard]] constexpr array_view<const rule_table*> tables_in(rule_list<Rules...> /*list*/) {
    return tables_of<Rules...>;
}

/// Makes a rule of the first struct that the text is one of; false where it is of none.
[[nodiscard, gnu::cold, gnu::noinline]] inline bool read_rule(std::string_view text, rule& made,
                                                              array_view<const rule_table*> tables) {
    rule_parameters words{};
    for (const rule_table* one : tables) {
        if (read_words(*one, text, words)) {
            made = rule(*one, words);
            return true;
        }
    }
    return false;
}

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

/// The rule that `rule::name` wrote, the library's or one of `Rules`: "sliding_window(4096)",
/// "vision.grid_windows(7,shift=3)". Anything else is an error.
template <statistic_rule... Rules>
[[nodiscard]] rule rule_named(std::string_view text) {
    return detail::rule_of_text(text, detail::tables_in(library_rules::with<Rules...>{}));
}

}  // namespace floptally
