// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <floptally/integer/host_device.hpp>
#include <floptally/rules/sequence.hpp>

/// @file
/// The concept `statistic_rule`: what a struct needs to be a rule, the library's or your own.

namespace floptally {

class rule;

using std::string_view_literals::operator""sv;  // a constant without it is measured letter by letter, in each unit

/// A whole number that a function of a mask or unit takes: an integer of at most 64 bits. A real number, a truth value
/// and a letter are none.
// The compiler's own traits, as below.
template <class T>
concept whole_number = !__is_class(T) && !__is_enum(T) && !__is_same(T, bool) && !__is_same(T, char) &&
                       sizeof(T) <= sizeof(std::int64_t) && requires(T number) {
    number % 1;
};

/// The shape of the pairs that a rule counts, for conventions that count squares or half of them.
enum class pair_shape : std::uint8_t {
    units,         ///< no pairs of a square, or pairs that every convention counts as they are
    full,          ///< part of a square, or all of it, that no convention halves
    causal,        ///< no query sees a later key: the triangle of a square, or part of it
    mixed,         ///< partly causal: counted as attended, or as a square where the convention counts every mask so
    beyond_causal  ///< seen besides a causal mask: nothing where that mask counts as a square or half of one
};

/// A sum in the moments of a batch, in halves: (half_squares·Σn² + half_tokens·Σn)/2 + cached·Σn·past + crossed·Σn·k,
/// and the other moments times their factors.
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

/// One parameter of a rule: its name, its range, and its place in the text form. A parameter with a fallback is written
/// as name=value, and left out where it has that value.
struct rule_parameter {
    const char* name = "";  // as a std::string_view a compiler measures it in each constant, a letter at a time
    std::int64_t least = std::numeric_limits<std::int32_t>::min();
    std::int64_t most = std::numeric_limits<std::int32_t>::max();
    std::int64_t fallback = none;

    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
};

/// The other rule that a rule is for some of its parameters; its value, name and shape are then those of the other.
template <class Rule>
struct equal_rule {
    bool exists = false;
    Rule other{};
};

/// The reason why a grid has no count under a rule.
enum class grid_problem : std::uint8_t {
    none,
    does_not_divide,       ///< by the rule's first parameter
    leaves_nothing,        ///< under convolutions of the rule's first parameter
    too_large,             ///< for 64 bits
    not_listed,            ///< among the rule's first and third parameter
    condition_leaves_rest  ///< in patches of the rule's first parameter
};

namespace detail {

/// True for the unsigned integers: a count is no real number and never below 0. Listed by hand, since a trait of
/// <type_traits> makes classes of every type that is asked.
template <class T>
inline constexpr bool is_count = false;
template <>
inline constexpr bool is_count<unsigned char> = true;
template <>
inline constexpr bool is_count<unsigned short> = true;
template <>
inline constexpr bool is_count<unsigned int> = true;
template <>
inline constexpr bool is_count<unsigned long> = true;
template <>
inline constexpr bool is_count<unsigned long long> = true;
__extension__ typedef unsigned __int128 wide_count;
template <>
inline constexpr bool is_count<wide_count> = true;

/// A stand-in for one parameter of a struct: it converts to std::int32_t or an enumeration as wide, and to nothing
/// else.
struct parameter_probe {
    template <class T>
    requires(__is_same(T, std::int32_t) || (__is_enum(T) && sizeof(T) == 4)) operator T() const;
};
/// A struct whose members are all signed 32-bit integers, which its text form writes.
template <class Rule>
concept has_whole_parameters = __is_empty(Rule) || requires(parameter_probe p) {
    requires sizeof(Rule) != 4 || requires { Rule{p}; };
    requires sizeof(Rule) != 8 || requires { Rule{p, p}; };
    requires sizeof(Rule) != 12 || requires { Rule{p, p, p}; };
    requires sizeof(Rule) != 16 || requires { Rule{p, p, p, p}; };
};

}  // namespace detail

/// A rule that counts a kind of sample: it has a call for it whose result is an unsigned integer.
template <class Rule, class Sample>
concept counts = requires(const Rule& made, const Sample& sample) {
    requires detail::is_count<decltype(made(sample))>;
};
/// A rule that counts one frame of a grid, and so the grid.
template <class Rule>
concept counts_frame = requires(const Rule& made, const grid& sample) {
    requires detail::is_count<decltype(made.of_frame(sample))>;
};
/// A rule of sequences that also counts grids, a frame being a sequence of its patches, and clips, as sequences of
/// their frames: it says `frames_are_sequences`.
template <class Rule>
concept takes_frames_as_sequences = counts<Rule, sequence> && Rule::frames_are_sequences;

namespace detail {

/// A rule that counts grids in one of these ways.
template <class Rule>
concept counts_grids = counts<Rule, grid> || counts_frame<Rule> || takes_frames_as_sequences<Rule>;
/// A rule that counts clips of sound.
template <class Rule>
concept counts_clips = counts<Rule, audio_clip> || takes_frames_as_sequences<Rule>;
/// A rule of words that a caller measures.
template <class Rule>
concept is_measured_rule = requires {
    requires Rule::is_measured;
};
/// A rule whose queries are the tokens of the other side of an encoder-decoder.
template <class Rule>
concept is_rule_of_other_side = requires {
    requires Rule::is_of_other_side;
};
/// A rule that the tokens of the other side enter.
template <class Rule>
concept reads_other_side = requires {
    requires Rule::reads_other_side;
};

/// A rule that names its parameters.
template <class Rule>
concept names_parameters = requires {
    Rule::parameters[0];
};
/// A rule whose text form has other numbers than its members: it converts one into the other.
template <class Rule>
concept converts_parameters = names_parameters<Rule> && requires(const Rule& made, std::int64_t* values) {
    made.values(values);
    { Rule::from(values) } -> std::same_as<Rule>;
};
/// A rule that names each of its members in `parameters`, or names none, or converts them.
template <class Rule>
concept names_each_member = !names_parameters<Rule> || converts_parameters<Rule> || requires {
    requires sizeof(Rule::parameters) / sizeof(rule_parameter) == sizeof(Rule) / sizeof(std::int32_t);
};

}  // namespace detail

/// A struct that can be a rule, also a user's own: at most four std::int32_t, a name, and a call for each kind of
/// sample that it counts, which returns an unsigned integer. The call is total, `constexpr` and FLOPTALLY_HOST_DEVICE.
///
///     struct dilated_window {                                  // every `step`-th of the last `tokens` tokens
///         std::int32_t tokens, step;
///         static constexpr std::string_view name = "dilated_window"sv;
///         FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const floptally::sequence& s) const { … }
///     };
///
/// Optional members: `parameters` (an array of `rule_parameter`: their names and ranges), `shape()`, `moments()`,
/// `canonical()`, `equal()`, `frames_are_sequences`, `of_frame(grid)`, `problem_of(grid)`, `over(block)` (its sum over
/// a block of lengths, fast), `add_keys(s, first, end, keys)` (for tiles), `is_of_other_side`, `reads_other_side`.
// The traits are the compiler's own: each of <type_traits>'s makes a dozen classes of every struct that is asked.
template <class Rule>
concept statistic_rule =
    __is_trivially_copyable(Rule) && __is_aggregate(Rule) && sizeof(Rule) <= 16 &&
    (__is_empty(Rule) || (sizeof(Rule) % 4 == 0 && __has_unique_object_representations(Rule))) && requires {
    { Rule::name } -> std::convertible_to<std::string_view>;
}
&&detail::names_each_member<Rule> &&
    (detail::has_whole_parameters<Rule> ||
     detail::is_measured_rule<Rule>)&&(counts<Rule, sequence> || counts<Rule, grid> || counts_frame<Rule> ||
                                       counts<Rule, audio_clip> || detail::is_measured_rule<Rule>);

namespace detail {

/// A type that can be called with a sample, though perhaps not as a rule is: not const, or with no integer as result.
template <class T, class Sample>
concept called_with = requires(T& made, const Sample& sample) {
    made(sample);
};
/// A type that can be called as a rule is, though its result may be no unsigned integer.
template <class T, class Sample>
concept gives = called_with<const T, Sample>;
template <class T>
concept has_static_name = requires {
    requires std::is_pointer_v<decltype(&T::name)>;
};
/// A struct that was meant as a rule and is none: it has a name, or a call for a sample.
template <class T>
concept fails_as_rule = __is_class(T) && !__is_base_of(rule, T) && !statistic_rule<T> &&
                        (has_static_name<T> || called_with<T, sequence> || called_with<T, grid> ||
                         called_with<T, audio_clip>);

/// Fails to compile with what to mend in a struct that was meant as a rule.
template <fails_as_rule T>
constexpr void say_what_is_missing() {
    constexpr bool has_name = requires {
        { T::name } -> std::convertible_to<std::string_view>;
    };
    constexpr bool has_call = counts<T, sequence> || counts<T, grid> || counts_frame<T> || counts<T, audio_clip>;
    constexpr bool has_other_result = !has_call && (gives<T, sequence> || gives<T, grid> || gives<T, audio_clip>);
    constexpr bool has_bits = __is_trivially_copyable(T) && __is_aggregate(T);
    static_assert(has_name, "this type has no rule: it needs `static constexpr std::string_view name`");
    static_assert(!has_other_result,
                  "this type has no rule: its operator() must return an unsigned integer, std::uint64_t: a real number "
                  "would be cut, and one below 0 would wrap");
    static_assert(has_call || has_other_result,
                  "this type has no rule: it needs `constexpr std::uint64_t operator()(const floptally::sequence&) "
                  "const`, or one of a grid or an audio_clip; mind the const");
    static_assert(has_bits,
                  "this type has no rule: it must be a trivially copyable aggregate (no constructor, no "
                  "private member, nothing that owns memory)");
    static_assert(has_whole_parameters<T> || !has_bits,
                  "this type has no rule: its members must be std::int32_t, at most four of them");
    static_assert(names_each_member<T> || !has_whole_parameters<T>,
                  "this type has no rule: `parameters` must name each of its members, which are 32-bit integers, in "
                  "order");
    static_assert(!(has_name && has_call && has_bits && has_whole_parameters<T> && names_each_member<T>),
                  "this type has no rule: its members must be std::int32_t, at most four of them");
}

}  // namespace detail

}  // namespace floptally
