// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/detail/rule_call.hpp>
#include <floptally/detail/rule_table.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/statistics/library_rules.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/statistic_rule.hpp>

namespace floptally {

namespace detail {

/// Makes a rule of this struct where the text is one of its.
template <statistic_rule Rule>
[[nodiscard]] inline bool read_rule(std::string_view text, rule& made) {
    if constexpr (requires(Rule & own) { Rule::read(text, own); }) {
        Rule own{};
        if (!Rule::read(text, own)) {
            return false;
        }
        made = own;
        return true;
    } else {
        constexpr std::size_t count = text_parameters<Rule>();
        std::int64_t values[count + 1]{};
        if (!read_call(text, Rule::name, named_parameters<Rule>(), count, values)) {
            return false;
        }
        made = [&values]<std::size_t... I>(std::index_sequence<I...>) { return make_rule<Rule>(values[I]...); }
        (std::make_index_sequence<count>{});
        return true;
    }
}

template <class... Rules>
[[nodiscard]] bool read_rule_of(std::string_view text, rule& made, rule_list<Rules...> /*list*/) {
    return (read_rule<Rules>(text, made) || ...);
}

}  // namespace detail

/// The rule that `rule::name` wrote, the library's or one of `Rules`: "sliding_window(4096)",
/// "vision.grid_windows(7,shift=3)". Anything else is an error.
template <statistic_rule... Rules>
[[nodiscard]] rule rule_named(std::string_view text) {
    std::string_view own = text;
    for (std::size_t in = 0; in < modality_count; ++in) {
        const std::string prefix = std::string(modality_names[in]) + ".";
        if (own.substr(0, prefix.size()) == prefix) {
            rule made;
            own.remove_prefix(prefix.size());
            if (detail::read_rule_of(own, made, library_rules::with<Rules...>{})) {
                return made.in(static_cast<modality>(in));
            }
        }
    }
    rule made;
    if (!detail::read_rule_of(own, made, library_rules::with<Rules...>{}) || made.in() != modality::text) {
        throw error("rule", "\"" + std::string(text) + "\" is none that is known here");
    }
    return made;
}

}  // namespace floptally
