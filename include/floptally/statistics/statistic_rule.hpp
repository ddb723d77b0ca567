// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <floptally/host_device.hpp>
#include <floptally/sequence.hpp>

namespace floptally {

class rule;

using std::string_view_literals::operator""sv;  // a constant without it is measured letter by letter, in each unit

/// What a convention that counts squares, or half of them, may make of a rule.
enum class pair_shape : std::uint8_t {
    units,         ///< no pairs of a square, or nobody counts them otherwise: counted as they are by every convention
    full,          ///< part of a square, or all of it, that no convention halves
    causal,        ///< no query sees a later key: the triangle of a square, or part of it
    mixed,         ///< partly causal: counted as attended, or as the square where every mask is
    beyond_causal  ///< what is seen besides a causal mask: nothing where the mask counts as half of a square, or all
};

/// A sum that follows from the moments of a batch, in halves: (squares·Σn² + tokens·Σn)/2 + cached·Σn·past +
/// crossed·Σn·k, or the other moments, once.
struct moment_form {
    bool exists = false;
    std::uint8_t half_squares = 0;
    std::uint8_t half_tokens = 0;
    std::uint8_t cached = 0;
    std::uint8_t crossed = 0;
    std::uint8_t count = 0;
    std::uint8_t keys = 0;
    std::uint8_t routed = 0;  ///< measured visits of experts

    [[nodiscard]] friend constexpr bool operator==(const moment_form&, const moment_form&) = default;
};

/// One parameter of a rule in its text form. One with a fallback is written by its name where it is another, and not
/// at all where it is not.
struct rule_parameter {
    const char* name = "";  // as a std::string_view a compiler measures it in each constant, a letter at a time
    std::int64_t least = std::numeric_limits<std::int32_t>::min();
    std::int64_t most = std::numeric_limits<std::int32_t>::max();
    std::int64_t fallback = none;

    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
};

/// Why a grid has no count under a rule.
enum class grid_problem : std::uint8_t {
    none,
    does_not_divide,  ///< by the rule's first parameter
    leaves_nothing,   ///< under convolutions of the rule's first parameter
    too_large,        ///< for 64 bits
    not_listed        ///< among the rule's first and third parameter
};

/// A rule counts a sample where it has a call for it.
template <class Rule, class Sample>
concept counts = requires(const Rule& made, const Sample& sample) {
    { made(sample) } -> std::convertible_to<std::uint64_t>;
};
/// A rule counts a grid, too, where it has a count of one of its frames.
template <class Rule>
concept counts_frame = requires(const Rule& made, const grid& sample) {
    { made.of_frame(sample) } -> std::same_as<std::uint64_t>;
};
/// A rule of sequences counts grids, a frame being a sequence of its patches, and clips, as sequences of their frames,
/// where it says `frames_are_sequences`.
template <class Rule>
concept takes_frames_as_sequences = counts<Rule, sequence> && Rule::frames_are_sequences;

namespace detail {

template <class Rule>
concept counts_grids = counts<Rule, grid> || counts_frame<Rule> || takes_frames_as_sequences<Rule>;
template <class Rule>
concept counts_clips = counts<Rule, audio_clip> || takes_frames_as_sequences<Rule>;
template <class Rule>
concept is_measured_rule = requires {
    requires Rule::is_measured;
};
template <class Rule>
concept is_rule_of_other_side = requires {
    requires Rule::is_of_other_side;
};
template <class Rule>
concept reads_other_side = requires {
    requires Rule::reads_other_side;
};

template <class Rule>
concept names_parameters = requires {
    Rule::parameters[0];
};
/// Numbers of the text form are not the words of the struct: it turns one into the other.
template <class Rule>
concept converts_parameters = names_parameters<Rule> && requires(const Rule& made, std::int64_t* values) {
    made.values(values);
    { Rule::from(values) } -> std::same_as<Rule>;
};
/// Parameters that are the words of the struct are named one and all.
template <class Rule>
concept names_each_member = !names_parameters<Rule> || converts_parameters<Rule> || requires {
    requires sizeof(Rule::parameters) / sizeof(rule_parameter) == sizeof(Rule) / sizeof(std::int32_t);
};

}  // namespace detail

/// A statistic of one's own: a struct of at most 16 bytes of 32-bit integers, a name, and a call for each kind of
/// sample that it counts, total, `constexpr` and FLOPTALLY_HOST_DEVICE.
///
///     struct dilated_window {                                  // every `step`-th of the last `tokens` tokens
///         std::int32_t tokens, step;
///         static constexpr std::string_view name = "dilated_window"sv;
///         FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const floptally::sequence& s) const { … }
///     };
///
/// What it may say besides, each by a member: `parameters` (an array of `rule_parameter`: their names and ranges),
/// `shape()`, `moments()`, `canonical()`, `frames_are_sequences`, `of_frame(grid)`, `problem_of(grid)`,
/// `over(block)` (its sum over a block of lengths, fast), `add_keys(s, first, end, keys)` (for tiles),
/// `is_of_other_side`, `reads_other_side`.
// The traits are the compiler's own: each of <type_traits>'s makes a dozen classes of every struct that is asked.
template <class Rule>
concept statistic_rule =
    __is_trivially_copyable(Rule) && __is_aggregate(Rule) && sizeof(Rule) <= 16 &&
    (__is_empty(Rule) || (sizeof(Rule) % 4 == 0 && __has_unique_object_representations(Rule))) && requires {
    { Rule::name } -> std::convertible_to<std::string_view>;
}
&&detail::names_each_member<Rule> && (counts<Rule, sequence> || counts<Rule, grid> || counts_frame<Rule> ||
                                      counts<Rule, audio_clip> || detail::is_measured_rule<Rule>);

namespace detail {

/// Called with a sample it gives something, though perhaps not as a rule does: not const, or no integer.
template <class T, class Sample>
concept called_with = requires(T& made, const Sample& sample) {
    made(sample);
};
template <class T>
concept has_static_name = requires {
    requires std::is_pointer_v<decltype(&T::name)>;
};
/// A struct that was meant as a rule and is none: it has a name, or a call for a sample.
template <class T>
concept fails_as_rule = __is_class(T) && !__is_base_of(rule, T) && !statistic_rule<T> &&
                        (has_static_name<T> || called_with<T, sequence> || called_with<T, grid> ||
                         called_with<T, audio_clip>);

/// Says what to mend in such a struct, one thing after the other.
template <fails_as_rule T>
constexpr void say_what_is_missing() {
    constexpr bool has_name = requires {
        { T::name } -> std::convertible_to<std::string_view>;
    };
    constexpr bool has_call = counts<T, sequence> || counts<T, grid> || counts_frame<T> || counts<T, audio_clip>;
    constexpr bool has_bits = __is_trivially_copyable(T) && __is_aggregate(T);
    static_assert(has_name, "this type has no rule: it needs `static constexpr std::string_view name`");
    static_assert(has_call,
                  "this type has no rule: it needs `constexpr std::uint64_t operator()(const floptally::sequence&) "
                  "const`, or one of a grid or an audio_clip; mind the const");
    static_assert(has_bits,
                  "this type has no rule: it must be a trivially copyable aggregate (no constructor, no "
                  "private member, nothing that owns memory)");
    static_assert(names_each_member<T>,
                  "this type has no rule: `parameters` must name each of its members, which are 32-bit integers, in "
                  "order");
    static_assert(!(has_name && has_call && has_bits && names_each_member<T>),
                  "this type has no rule: its members must be 32-bit integers, at most four of them");
}

}  // namespace detail

}  // namespace floptally
