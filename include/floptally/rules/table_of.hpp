// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/library_names.hpp>
#include <floptally/rules/detail/near_misses.hpp>
#include <floptally/rules/detail/rule_words.hpp>
#include <floptally/rules/length_block.hpp>
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

// A table points to these: one function for each member that a struct may have, called with its parameters.

template <class Rule, class Sample>
[[nodiscard]] constexpr uint128 amount_by_words(const rule_parameters& words, const Sample& sample) {
    return rule_from<Rule>(words)(sample);
}
template <class Rule>
[[nodiscard]] constexpr uint128 frame_by_words(const rule_parameters& words, const grid& g) {
    return rule_from<Rule>(words).of_frame(g);
}
template <class Rule, class N>
[[nodiscard]] std::uint64_t over_by_words(const rule_parameters& words, const length_block<N>& block) {
    return rule_from<Rule>(words).over(block);
}
template <class Rule>
[[nodiscard]] constexpr pair_shape shape_by_words(const rule_parameters& words) {
    return rule_from<Rule>(words).shape();
}
template <class Rule>
[[nodiscard]] constexpr moment_form moments_by_words(const rule_parameters& words) {
    return rule_from<Rule>(words).moments();
}
template <class Rule>
[[nodiscard]] constexpr grid_problem problem_by_words(const rule_parameters& words, const grid& g) {
    return rule_from<Rule>(words).problem_of(g);
}
template <class Rule>
constexpr void add_keys_by_words(const rule_parameters& words, const sequence& s, std::uint64_t first,
                                 std::uint64_t end, seen_keys& keys) {
    rule_from<Rule>(words).add_keys(s, first, end, keys);
}
template <class Rule>
constexpr void check_by_words(const rule_parameters& words) {
    rule_from<Rule>(words).check();
}
template <class Rule>
constexpr void values_by_words(const rule_parameters& words, std::int64_t* to) {
    rule_from<Rule>(words).values(to);
}
template <class Rule>
[[nodiscard]] constexpr rule_parameters words_from(const std::int64_t* numbers) {
    return parameters_of(Rule::from(numbers));
}
template <class Rule>
[[nodiscard, gnu::cold]] bool read_by_words(std::string_view text, rule_parameters& words) {
    Rule made{};
    const bool is_own = Rule::read(text, made);
    words = is_own ? parameters_of(made) : words;
    return is_own;
}
template <class Rule>
[[gnu::cold]] void write_by_words(const rule_parameters& words, std::string& to) {
    rule_from<Rule>(words).write(to);
}
template <class Rule>
constexpr void canonical_by_words(const rule_table*& table, rule_parameters& words);
template <class Rule>
constexpr void equal_by_words(const rule_table*& table, rule_parameters& words);

/// Makes the table of a struct; a compile error where its name is that of a rule of the library.
template <class Rule>
[[nodiscard]] constexpr rule_table make_table() {
    static_assert(text_parameters<Rule> <= most_text_parameters);
    constexpr bool is_own = struct_in(spelled<Rule>()).substr(0, 11) == "floptally::";
    static_assert(is_own || !is_library_name(Rule::name),
                  "this type has no rule: its name is that of a rule of the library; give it another");
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
    if constexpr (counts<Rule, sequence>) {
        made.of_sequence = amount_by_words<Rule, sequence>;
    }
    if constexpr (counts<Rule, grid>) {
        made.of_grid = amount_by_words<Rule, grid>;
    } else if constexpr (counts_frame<Rule>) {
        made.of_frame = frame_by_words<Rule>;
    }
    if constexpr (counts<Rule, audio_clip>) {
        made.of_clip = amount_by_words<Rule, audio_clip>;
    }
    if constexpr (requires(const Rule& of, const length_block<std::int16_t>& block) { of.over(block); }) {
        made.over_short = over_by_words<Rule, std::int16_t>;
    }
    if constexpr (requires(const Rule& of, const length_block<std::int32_t>& block) { of.over(block); }) {
        made.over_long = over_by_words<Rule, std::int32_t>;
    }
    if constexpr (requires(const Rule& of) { of.shape(); }) {
        made.shape = shape_by_words<Rule>;
    }
    if constexpr (requires(const Rule& of) { of.moments(); }) {
        made.moments = moments_by_words<Rule>;
    }
    if constexpr (requires(const Rule& of) { of.canonical(); }) {
        made.canonical = canonical_by_words<Rule>;
    }
    if constexpr (requires(const Rule& of) { of.equal().exists; }) {
        made.equal = equal_by_words<Rule>;
    }
    if constexpr (requires(const Rule& of, const grid& g) { of.problem_of(g); }) {
        made.problem_of_grid = problem_by_words<Rule>;
    }
    if constexpr (requires(const Rule& of, const sequence& s, seen_keys& keys) { of.add_keys(s, 0U, 1U, keys); }) {
        made.add_keys = add_keys_by_words<Rule>;
    }
    if constexpr (requires(const Rule& of) { of.check(); }) {
        made.check = check_by_words<Rule>;
    }
    if constexpr (converts_parameters<Rule>) {
        made.values = values_by_words<Rule>;
        made.from = words_from<Rule>;
    }
    if constexpr (requires(const Rule& of, std::string& to) { of.write(to); }) {
        made.write = write_by_words<Rule>;
    }
    if constexpr (requires(Rule & own) { Rule::read(std::string_view{}, own); }) {
        made.read = read_by_words<Rule>;
    }
    return made;
}

/// The table of a struct, the only one that its rules point to.
template <class Rule>
inline constexpr rule_table table_of = make_table<Rule>();

template <class Rule>
constexpr void canonical_by_words(const rule_table*& table, rule_parameters& words) {
    const auto same = rule_from<Rule>(words).canonical();
    table = &table_of<std::remove_cv_t<decltype(same)>>;
    words = parameters_of(same);
}
template <class Rule>
constexpr void equal_by_words(const rule_table*& table, rule_parameters& words) {
    const auto same = rule_from<Rule>(words).equal();
    if (same.exists) {
        table = &table_of<std::remove_cv_t<decltype(same.other)>>;
        words = parameters_of(same.other);
    }
}

}  // namespace floptally::detail
