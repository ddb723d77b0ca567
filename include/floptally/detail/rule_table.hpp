// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <floptally/detail/checked.hpp>
#include <floptally/detail/length_block.hpp>
#include <floptally/detail/rule_call.hpp>
#include <floptally/detail/rule_words.hpp>
#include <floptally/detail/seen_keys.hpp>
#include <floptally/detail/text.hpp>
#include <floptally/error.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistics/statistic_rule.hpp>

/// @file
/// What `rule` keeps of a struct: its parameters as 32-bit words, and one table of its functions.

namespace floptally::detail {

/// "sequences", "grids of images", "clips of sound": what errors call the samples of a modality.
[[nodiscard]] constexpr const char* samples_of(modality which) {
    return which == modality::text ? "sequences" : which == modality::vision ? "grids of images" : "clips of sound";
}

/// The parameters of a rule that does not name them.
inline constexpr rule_parameter unnamed_parameters[4]{};

/// How many numbers its text form has, and what they are called.
inline constexpr std::size_t most_text_parameters = 8;
template <class Rule>
inline constexpr std::uint8_t text_parameters = parameter_words<Rule>;
template <names_parameters Rule>
inline constexpr std::uint8_t text_parameters<Rule> = sizeof(Rule::parameters) / sizeof(rule_parameter);
template <class Rule>
inline constexpr const rule_parameter* named_parameters = unnamed_parameters;
template <names_parameters Rule>
inline constexpr const rule_parameter* named_parameters<Rule> = Rule::parameters;

/// What is said once for each struct: names, refusals, and its functions. A function that the struct has no member for
/// is null, so that it costs nothing to compile: the table is as short as the rule.
struct rule_table {
    std::string_view name{};
    std::uint32_t id = 0;
    bool counts[modality_count]{};
    bool is_measured = false;
    bool is_of_other_side = false;
    bool reads_other_side = false;
    std::uint8_t text_parameters = 0;
    bool checks_parameters = false;  ///< each is a word of the struct
    bool frames_are_sequences = false;
    const rule_parameter* parameters = nullptr;
    uint128 (*of_sequence)(const rule_parameters&, const sequence&) = nullptr;
    uint128 (*of_grid)(const rule_parameters&, const grid&) = nullptr;
    uint128 (*of_clip)(const rule_parameters&, const audio_clip&) = nullptr;
    std::uint64_t (*of_frame)(const rule_parameters&, const grid&) = nullptr;
    std::uint64_t (*over_short)(const rule_parameters&, const length_block<std::int16_t>&) = nullptr;
    std::uint64_t (*over_long)(const rule_parameters&, const length_block<std::int32_t>&) = nullptr;
    pair_shape (*shape)(const rule_parameters&) = nullptr;
    moment_form (*moments)(const rule_parameters&) = nullptr;
    /// Replaces table and parameters by those of the rule whose sums are the same.
    void (*canonical)(const rule_table*&, rule_parameters&) = nullptr;
    grid_problem (*problem_of_grid)(const rule_parameters&, const grid&) = nullptr;
    void (*add_keys)(const rule_parameters&, const sequence&, std::uint64_t, std::uint64_t, seen_keys&) = nullptr;
    void (*check)(const rule_parameters&) = nullptr;
    /// The numbers of its text form, and back, where they are not the words of the struct.
    void (*values)(const rule_parameters&, std::int64_t*) = nullptr;
    rule_parameters (*from)(const std::int64_t*) = nullptr;
    /// A text form of its own, and back: false where the text is not one of its.
    void (*write)(const rule_parameters&, std::string&) = nullptr;
    bool (*read)(std::string_view, rule_parameters&) = nullptr;
};

constexpr void check_parameters(const rule_table& table, const rule_parameters& words) {
    for (std::size_t i = 0; table.checks_parameters && i < table.text_parameters; ++i) {
        static_cast<void>(in_range(table.parameters[i], words.of[i]));
    }
    if (table.check != nullptr) {
        table.check(words);
    }
}

/// The words of a rule whose text form has these numbers, each in its range or an error that names it.
[[nodiscard]] constexpr rule_parameters words_of(const rule_table& table, const std::int64_t* numbers) {
    rule_parameters words{};
    for (std::size_t i = 0; i < table.text_parameters; ++i) {
        const std::int32_t number = in_range(table.parameters[i], numbers[i]);
        if (table.from == nullptr) {
            words.of[i] = number;
        }
    }
    return table.from == nullptr ? words : table.from(numbers);
}

/// "name", "name(7)", "name(7,shift=3)".
[[gnu::cold, gnu::noinline]] inline void write_rule(const rule_table& table, const rule_parameters& words,
                                                    std::string& to) {
    if (table.write != nullptr) {
        table.write(words, to);
        return;
    }
    append(to, {table.name});
    std::int64_t values[most_text_parameters]{words.of[0], words.of[1], words.of[2], words.of[3]};
    if (table.values != nullptr) {
        table.values(words, values);
    }
    const char* before = "(";
    for (std::size_t i = 0; i < table.text_parameters; ++i) {
        const rule_parameter& of = table.parameters[i];
        if (values[i] == of.fallback) {
            continue;
        }
        const bool is_named = of.fallback != rule_parameter::none;
        append(to, {before, is_named ? of.name : "", is_named ? "=" : "", values[i]});
        before = ",";
    }
    append(to, {*before == ',' ? ")" : ""});
}

/// Reads what `write_rule` wrote: false where the text is not of a rule of this struct.
[[nodiscard, gnu::cold, gnu::noinline]] inline bool read_words(const rule_table& table, std::string_view text,
                                                               rule_parameters& words) {
    if (table.read != nullptr) {
        return table.read(text, words);
    }
    std::int64_t numbers[most_text_parameters]{};
    const bool is_own = read_call(text, table.name, table.parameters, table.text_parameters, numbers);
    words = is_own ? words_of(table, numbers) : words;
    return is_own;
}

/// A frame of a grid, for a rule that takes it as a sequence of its patches.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr sequence sequence_of_frame(const grid& g) {
    return sequence{static_cast<std::uint32_t>(g.frame_patches())};
}

/// Σ over lengths, each a sequence of its own, one by one.
template <class N>
[[nodiscard]] std::uint64_t sum_one_by_one(const rule_table& table, const rule_parameters& words,
                                           const length_block<N>& block) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < block.size; ++i) {
        const auto more = static_cast<std::uint64_t>(
            table.of_sequence(words, sequence{.length = static_cast<std::uint32_t>(block.lengths[i])}));
        sum += more;
        if (sum < more) {
            throw overflow(table.name, "the sum does not fit 64 bits");
        }
    }
    return sum;
}

// What a table points to: one function for each member that a struct has, of its words.

template <class Rule, class Sample>
[[nodiscard]] constexpr uint128 amount_by_words(const rule_parameters& words, const Sample& sample) {
    return rule_from<Rule>(words)(sample);
}
template <class Rule>
[[nodiscard]] constexpr std::uint64_t frame_by_words(const rule_parameters& words, const grid& g) {
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
[[nodiscard]] constexpr rule_table make_table() {
    static_assert(text_parameters<Rule> <= most_text_parameters);
    rule_table made{.name = Rule::name,
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

template <class Rule>
inline constexpr rule_table table_of = make_table<Rule>();

template <class Rule>
constexpr void canonical_by_words(const rule_table*& table, rule_parameters& words) {
    const auto same = rule_from<Rule>(words).canonical();
    table = &table_of<std::remove_cv_t<decltype(same)>>;
    words = parameters_of(same);
}

}  // namespace floptally::detail
