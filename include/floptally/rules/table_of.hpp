// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/near_misses.hpp>
#include <floptally/rules/detail/rule_words.hpp>
#include <floptally/rules/length_block.hpp>
#include <floptally/rules/library_rules.hpp>
#include <floptally/rules/rule_table.hpp>
#include <floptally/rules/seen_keys.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// `table_of<Rule>`: the table of a rule's struct.

namespace floptally::detail {

/// The parameters of a rule that does not name them: no name, any 32-bit integer.
inline constexpr rule_parameter unnamed_parameters[4]{};

/// The number of parameters in its text form; after it, their names and ranges.
template <class Rule>
inline constexpr std::uint8_t text_parameters = parameter_words<Rule>;
template <names_parameters Rule>
inline constexpr std::uint8_t text_parameters<Rule> = sizeof(Rule::parameters) / sizeof(rule_parameter);
template <class Rule>
inline constexpr const rule_parameter* named_parameters = unnamed_parameters;
template <names_parameters Rule>
inline constexpr const rule_parameter* named_parameters<Rule> = Rule::parameters;

template <class Rule>
[[nodiscard]] constexpr rule_table make_table();

/// The table of a struct, the only one that its rules point to.
template <class Rule>
inline constexpr rule_table table_of = make_table<Rule>();

/// Makes the table of a struct; a compile error where its name is that of a rule of the library.
template <class Rule>
[[nodiscard]] constexpr rule_table make_table() {
    static_assert(text_parameters<Rule> <= most_text_parameters);
    constexpr bool is_own = struct_in(spelled<Rule>()).substr(0, 11) == "floptally::";
    if constexpr (!is_own) {
        static_assert(!is_name_in(library_rules{}, Rule::name),
                      "this type has no rule: its name is that of a rule of the library; give it another");
    }
    if constexpr (!is_own && !__is_final(Rule)) {
        refuse_near_misses<Rule>();  // the library's own rules are tested instead
    }
    rule_table made{.name = Rule::name,
                    .spelled = spelled<Rule>(),
                    .id = id_of<Rule>,
                    .counts = {counts<Rule, sequence>, counts_grids<Rule>, counts_clips<Rule>},
                    .is_measured = is_measured_rule<Rule>,
                    .is_of_other_side = is_rule_of_other_side<Rule>,
                    .reads_other_side = is_rule_of_other_side<Rule> || reads_other_side<Rule>,
                    .text_parameters = text_parameters<Rule>,
                    .checks_parameters = names_parameters<Rule> && !converts_parameters<Rule>,
                    .frames_are_sequences = takes_frames_as_sequences<Rule>,
                    .parameters = named_parameters<Rule>};
    // Each function makes the struct of its parameters and calls the member of that name, which the struct has.
    if constexpr (counts<Rule, sequence>) {
        made.of_sequence = [](const rule_parameters& words, const sequence& s) -> uint128 {
            return rule_from<Rule>(words)(s);
        };
    }
    if constexpr (counts<Rule, grid>) {
        made.of_grid = [](const rule_parameters& words, const grid& g) -> uint128 { return rule_from<Rule>(words)(g); };
    } else if constexpr (counts_frame<Rule>) {
        made.of_frame = [](const rule_parameters& words, const grid& g) -> uint128 {
            return rule_from<Rule>(words).of_frame(g);
        };
    }
    if constexpr (counts<Rule, audio_clip>) {
        made.of_clip = [](const rule_parameters& words, const audio_clip& clip) -> uint128 {
            return rule_from<Rule>(words)(clip);
        };
    }
    if constexpr (requires(const Rule& own, const length_block<std::int16_t>& block) { own.over(block); }) {
        made.over_short = [](const rule_parameters& words, const length_block<std::int16_t>& block) -> std::uint64_t {
            return rule_from<Rule>(words).over(block);
        };
    }
    if constexpr (requires(const Rule& own, const length_block<std::int32_t>& block) { own.over(block); }) {
        made.over_long = [](const rule_parameters& words, const length_block<std::int32_t>& block) -> std::uint64_t {
            return rule_from<Rule>(words).over(block);
        };
    }
    if constexpr (requires(const Rule& own) { own.shape(); }) {
        made.shape = [](const rule_parameters& words) -> pair_shape { return rule_from<Rule>(words).shape(); };
    }
    if constexpr (requires(const Rule& own) { own.moments(); }) {
        made.moments = [](const rule_parameters& words) -> moment_form { return rule_from<Rule>(words).moments(); };
    }
    if constexpr (requires(const Rule& own) { own.canonical(); }) {
        made.canonical = [](const rule_table*& table, rule_parameters& words) {
            const auto same = rule_from<Rule>(words).canonical();
            table = &table_of<std::remove_cv_t<decltype(same)>>;
            words = parameters_of(same);
        };
    }
    if constexpr (requires(const Rule& own) { own.equal().exists; }) {
        made.equal = [](const rule_table*& table, rule_parameters& words) {
            const auto same = rule_from<Rule>(words).equal();
            if (same.exists) {
                table = &table_of<std::remove_cv_t<decltype(same.other)>>;
                words = parameters_of(same.other);
            }
        };
    }
    if constexpr (requires(const Rule& own, const grid& g) { own.problem_of(g); }) {
        made.problem_of_grid = [](const rule_parameters& words, const grid& g) -> grid_problem {
            return rule_from<Rule>(words).problem_of(g);
        };
    }
    if constexpr (requires(const Rule& own, const sequence& s, seen_keys& keys) { own.add_keys(s, 0U, 1U, keys); }) {
        made.add_keys = [](const rule_parameters& words, const sequence& s, std::uint64_t first, std::uint64_t end,
                           seen_keys& keys) { rule_from<Rule>(words).add_keys(s, first, end, keys); };
    }
    if constexpr (requires(const Rule& own) { own.check(); }) {
        made.check = [](const rule_parameters& words) { rule_from<Rule>(words).check(); };
    }
    if constexpr (converts_parameters<Rule>) {
        made.values = [](const rule_parameters& words, std::int64_t* to) { rule_from<Rule>(words).values(to); };
        made.from = [](const std::int64_t* numbers) { return parameters_of(Rule::from(numbers)); };
    }
    if constexpr (requires(const Rule& own, std::string& to) { own.write(to); }) {
        made.write = [](const rule_parameters& words, std::string& to) { rule_from<Rule>(words).write(to); };
    }
    if constexpr (requires(Rule & own) { Rule::read(std::string_view{}, own); }) {
        made.read = [](std::string_view text, rule_parameters& words) -> bool {
            Rule own{};
            const bool is_read = Rule::read(text, own);
            words = is_read ? parameters_of(own) : words;
            return is_read;
        };
    }
    return made;
}

}  // namespace floptally::detail
