// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/sequence.hpp>

/// @file
/// The concept `statistic_type`: the members that a struct needs to be a statistic, in the library or in your own code.

namespace floptally::inline v0_3 {

class statistic;

// With the suffix `sv`, the compiler knows the length of a text constant. Otherwise it computes the length in each
// translation unit.
using std::string_view_literals::operator""sv;

/// The type of a number in a call such as `mask::sliding_window(4096)`: an integer of at most 64 bits. Floating-point
/// numbers, bool and char do not satisfy the concept. The concept uses compiler built-ins instead of <type_traits> to
/// save compile time.
template <class T>
concept whole_number = !__is_class(T) && !__is_enum(T) && !__is_same(T, bool) && !__is_same(T, char) &&
                       sizeof(T) <= sizeof(std::int64_t) && requires(T number) {
    number % 1;
};

/// The shape of the pairs that a statistic counts. Conventions that count squares or half squares read the shape.
enum class pair_shape : std::uint8_t {
    units,   ///< the statistic counts no pairs, or pairs that every convention counts exactly
    full,    ///< all or some pairs of a square; no convention halves their number
    causal,  ///< no query attends to a later key: the triangle of a square, or part of it
    mixed,   ///< partly causal; conventions that count every mask as a square also count these pairs as a square; all
             ///< other conventions count the pairs exactly
    beyond_causal,  ///< pairs in addition to a causal mask; they do not count if the convention counts the causal mask
                    ///< as a square or half a square
    masked_out,     ///< pairs that a kernel computes but the mask removes; only conventions that count every mask as a
                    ///< square count them
    unregistered    ///< work of operators for which PyTorch's FlopCounterMode has no formula; the conventions of
                    ///< FlopCounterMode do not count this work
};

/// A sum as a linear combination of the moments of a batch. A sequence has n new tokens, `past` cached tokens, and k
/// tokens on the encoder's side. The sum is (half_squares·Σn² + half_tokens·Σn)/2 + cached·Σn·past + crossed·Σn·k, plus
/// the other moments times their factors.
struct moment_form {
    bool exists = false;
    std::uint8_t half_squares = 0;
    std::uint8_t half_tokens = 0;
    std::uint8_t cached = 0;
    std::uint8_t crossed = 0;
    std::uint8_t count = 0;
    std::uint8_t keys = 0;
    std::uint8_t routed = 0;  ///< factor of the measured visits of experts

    [[nodiscard]] friend constexpr bool operator==(const moment_form&, const moment_form&) = default;
};

/// One parameter of a statistic: its name and range. A parameter with a fallback is written as name=value in the
/// statistic's text, and omitted if its value is the fallback.
struct statistic_parameter {
    const char* name = "";  // name; a C string, because computing the length of each std::string_view slows compilation
    std::int64_t least = INT32_MIN;
    std::int64_t most = INT32_MAX;
    std::int64_t fallback = none;

    static constexpr std::int64_t none = INT64_MIN;
};

/// The result of `equal()`. For some values of its parameters a statistic counts the same as another statistic. Then
/// `exists` is true, and the other statistic replaces it.
template <class Statistic>
struct equal_statistic {
    bool exists = false;
    Statistic other{};
};

/// The reason why a statistic cannot count a grid.
enum class grid_problem : std::uint8_t {
    none,
    does_not_divide,       ///< the grid's height or width is not a multiple of the statistic's first parameter
    leaves_nothing,        ///< the grid is smaller than the convolution or patch, whose size is the statistic's first
                           ///< parameter
    too_large,             ///< the number for the grid may not fit 64 bits
    not_listed,            ///< a frame's number of patches is neither the statistic's first nor its third parameter
    condition_leaves_rest  ///< the cells in `grid::condition` are not a whole number of patches; the first parameter is
                           ///< the side of a patch
};

namespace detail {

/// True for the unsigned integer types, because a count is never fractional or negative. The types are listed here to
/// save compile time: the traits of <type_traits> instantiate classes for each type.
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

/// A placeholder for one member of a statistic's struct. It converts only to std::int32_t and to enumerations of the
/// same size.
struct parameter_probe {
    template <class T>
    requires(__is_same(T, std::int32_t) || (__is_enum(T) && sizeof(T) == 4)) operator T() const;
};
/// A statistic whose members are all signed 32-bit integers. These integers are the numbers in the statistic's text.
template <class Statistic>
concept has_whole_parameters = __is_empty(Statistic) || requires(parameter_probe p) {
    requires sizeof(Statistic) != 4 || requires { Statistic{p}; };
    requires sizeof(Statistic) != 8 || requires { Statistic{p, p}; };
    requires sizeof(Statistic) != 12 || requires { Statistic{p, p, p}; };
    requires sizeof(Statistic) != 16 || requires { Statistic{p, p, p, p}; };
};

}  // namespace detail

/// A statistic that counts samples of the type `Sample`. Its call operator takes the sample and returns an unsigned
/// integer.
template <class Statistic, class Sample>
concept counts = requires(const Statistic& value, const Sample& sample) {
    requires detail::is_count<decltype(value(sample))>;
};
/// A statistic that counts one frame of a grid. The number for a grid is t times that of a frame.
template <class Statistic>
concept counts_frame = requires(const Statistic& value, const grid& sample) {
    requires detail::is_count<decltype(value.of_frame(sample))>;
};
/// A statistic of sequences that also counts grids and audio clips, because it has `frames_are_sequences`. A frame of a
/// grid counts as a sequence of its patches, and a clip as a sequence of its frames.
template <class Statistic>
concept takes_frames_as_sequences = counts<Statistic, sequence> && Statistic::frames_are_sequences;

namespace detail {

/// A statistic that counts grids: as a whole, frame by frame, or each frame as a sequence.
template <class Statistic>
concept counts_grids = counts<Statistic, grid> || counts_frame<Statistic> || takes_frames_as_sequences<Statistic>;
/// A statistic that counts audio clips.
template <class Statistic>
concept counts_clips = counts<Statistic, audio_clip> || takes_frames_as_sequences<Statistic>;
/// A statistic of an accumulator that a caller measures.
template <class Statistic>
concept is_measured_statistic = requires {
    requires Statistic::is_measured;
};
/// A statistic whose queries are the tokens of the encoder's side of an encoder-decoder.
template <class Statistic>
concept is_statistic_of_other_side = requires {
    requires Statistic::is_of_other_side;
};
/// A statistic that depends on the tokens of the encoder's side.
template <class Statistic>
concept reads_other_side = requires {
    requires Statistic::reads_other_side;
};

/// A statistic that names its parameters.
template <class Statistic>
concept names_parameters = requires {
    Statistic::parameters[0];
};
/// A statistic whose members differ from the numbers in its text. It has functions that convert members to these
/// numbers and back.
template <class Statistic>
concept converts_parameters = names_parameters<Statistic> && requires(const Statistic& value, std::int64_t* values) {
    value.values(values);
    { Statistic::from(values) } -> std::same_as<Statistic>;
};
/// Rules out a statistic whose `parameters` do not have a name for each of its members. Such a statistic needs
/// functions that convert its members to numbers. A statistic without `parameters` needs none.
template <class Statistic>
concept names_each_member = !names_parameters<Statistic> || converts_parameters<Statistic> || requires {
    requires sizeof(Statistic::parameters) / sizeof(statistic_parameter) == sizeof(Statistic) / sizeof(std::int32_t);
};

}  // namespace detail

/// A struct that can be a statistic, in the library or in your own code. It has at most four std::int32_t members, a
/// name, and a call operator for each type of sample that it counts. The call returns an unsigned integer for every
/// sample and is `constexpr` and FLOPTALLY_HOST_DEVICE.
///
///     struct dilated_window {                                  // every `step`-th of the last `tokens` tokens
///         std::int32_t tokens, step;
///         static constexpr std::string_view name = "dilated_window"sv;
///         FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const floptally::sequence& s) const { … }
///     };
///
/// Optional members of a statistic's struct: `parameters` (an array of `statistic_parameter`: names and ranges of the
/// members), `shape()`, `counts_by_position()` (true if the amount of a query depends only on its position),
/// `moments()`, `canonical()`, `equal()`, `frames_are_sequences`, `of_frame(grid)`, `problem_of(grid)`,
/// `over(length_block)` (a faster sum over a block of lengths), `add_keys(s, first, end, keys)` (for tiles),
/// `is_of_other_side`, `reads_other_side`. The concept uses compiler built-ins, because the traits of <type_traits>
/// instantiate a dozen classes for each struct.
template <class Statistic>
concept statistic_type = __is_trivially_copyable(Statistic) && __is_aggregate(Statistic) && sizeof(Statistic) <= 16 &&
                         (__is_empty(Statistic) ||
                          (sizeof(Statistic) % 4 == 0 && __has_unique_object_representations(Statistic))) &&
                         requires {
    { Statistic::name } -> std::convertible_to<std::string_view>;
}
&&detail::names_each_member<Statistic> &&
    (detail::has_whole_parameters<Statistic> ||
     detail::is_measured_statistic<Statistic>)&&(counts<Statistic, sequence> || counts<Statistic, grid> ||
                                                 counts_frame<Statistic> || counts<Statistic, audio_clip> ||
                                                 detail::is_measured_statistic<Statistic>);

namespace detail {

/// A type that can be called with a sample, even if the call is not const or has a result of the wrong type.
template <class T, class Sample>
concept called_with = requires(T& value, const Sample& sample) {
    value(sample);
};
/// A type with a const call for a sample, even if the result is not an unsigned integer.
template <class T, class Sample>
concept gives = called_with<const T, Sample>;
template <class T>
concept has_static_name = requires {
    requires std::is_pointer_v<decltype(&T::name)>;
};
/// A struct that looks like a statistic but is not one: it has a name or a call operator for a sample.
template <class T>
concept fails_as_statistic = __is_class(T) && !__is_base_of(statistic, T) && !statistic_type<T> &&
                             (has_static_name<T> || called_with<T, sequence> || called_with<T, grid> ||
                              called_with<T, audio_clip>);

/// Fails to compile and says what to change in a struct that looks like a statistic.
template <fails_as_statistic T>
constexpr void say_what_is_missing() {
    constexpr bool has_name = requires {
        { T::name } -> std::convertible_to<std::string_view>;
    };
    constexpr bool has_call = counts<T, sequence> || counts<T, grid> || counts_frame<T> || counts<T, audio_clip>;
    constexpr bool has_other_result = !has_call && (gives<T, sequence> || gives<T, grid> || gives<T, audio_clip>);
    constexpr bool has_bits = __is_trivially_copyable(T) && __is_aggregate(T);
    static_assert(has_name, "this type is not a statistic: add `static constexpr std::string_view name`");
    static_assert(
        !has_other_result,
        "this type is not a statistic: its operator() must return an unsigned integer, std::uint64_t: a fraction "
        "would be cut off, and a number below 0 would wrap");
    static_assert(has_call || has_other_result,
                  "this type is not a statistic: add `constexpr std::uint64_t operator()(const floptally::sequence&) "
                  "const`, or one with a grid or an audio_clip; mind the const");
    static_assert(has_bits,
                  "this type is not a statistic: it must be a trivially copyable aggregate (no constructor, no "
                  "private member, nothing that owns memory)");
    static_assert(has_whole_parameters<T> || !has_bits,
                  "this type is not a statistic: its members must be std::int32_t, at most four of them");
    static_assert(
        names_each_member<T> || !has_whole_parameters<T>,
        "this type is not a statistic: `parameters` must name each of its members, which are 32-bit integers, in "
        "order");
    static_assert(!(has_name && has_call && has_bits && has_whole_parameters<T> && names_each_member<T>),
                  "this type is not a statistic: its members must be std::int32_t, at most four of them");
}

}  // namespace detail

}  // namespace floptally
