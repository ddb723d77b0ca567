// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/rule_call.hpp>
#include <floptally/rules/detail/rule_words.hpp>
#include <floptally/rules/length_block.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// `rule_table`: the functions of a rule's struct, and the parameters of a rule as 32-bit integers.

namespace floptally::detail {

class seen_keys;

/// The samples of a modality as errors call them: "sequences", "grids of images", "clips of sound".
[[nodiscard]] constexpr const char* samples_of(modality which) {
    return which == modality::text ? "sequences" : which == modality::vision ? "grids of images" : "clips of sound";
}

/// The most numbers that the text form of a rule has.
inline constexpr std::size_t most_text_parameters = 9;

/// A function, or none. It says so itself: with -fsanitize=undefined no comparison of a function with nullptr is a
/// constant for g++.
template <class Signature>
class optional_function;
template <class Result, class... Arguments>
class optional_function<Result(Arguments...)> {
  public:
    constexpr optional_function() = default;
    template <std::convertible_to<Result (*)(Arguments...)> Function>
    constexpr optional_function(Function made)  // NOLINT(google-explicit-constructor): a lambda is one
        : function_(made), exists_(true) {}

    [[nodiscard]] constexpr explicit operator bool() const { return exists_; }
    constexpr Result operator()(Arguments... arguments) const {
        return function_(static_cast<Arguments>(arguments)...);
    }

  private:
    Result (*function_)(Arguments...) = nullptr;
    bool exists_ = false;
};

/// One struct's name, properties and functions, once for all rules made of it. A function that the struct has no member
/// for costs nothing to compile: the table is as short as the rule.
struct rule_table {
    std::string_view name{};
    const char* spelled = "";  ///< the compiler's text with the struct's name, for `struct_in`
    std::uint32_t id = 0;
    bool counts[modality_count]{};
    bool is_measured = false;
    bool is_of_other_side = false;
    bool reads_other_side = false;
    std::uint8_t text_parameters = 0;
    bool checks_parameters = false;  ///< true where each is a member of the struct
    bool frames_are_sequences = false;
    const rule_parameter* parameters = nullptr;
    optional_function<uint128(const rule_parameters&, const sequence&)> of_sequence{};
    optional_function<uint128(const rule_parameters&, const grid&)> of_grid{};
    optional_function<uint128(const rule_parameters&, const audio_clip&)> of_clip{};
    optional_function<uint128(const rule_parameters&, const grid&)> of_frame{};
    optional_function<std::uint64_t(const rule_parameters&, const length_block<std::int16_t>&)> over_short{};
    optional_function<std::uint64_t(const rule_parameters&, const length_block<std::int32_t>&)> over_long{};
    optional_function<pair_shape(const rule_parameters&)> shape{};
    optional_function<moment_form(const rule_parameters&)> moments{};
    /// Replaces table and parameters by those of the rule whose sums are the same.
    optional_function<void(const rule_table*&, rule_parameters&)> canonical{};
    /// Replaces table and parameters by those of the rule that this one is for these parameters, where there is one.
    optional_function<void(const rule_table*&, rule_parameters&)> equal{};
    optional_function<grid_problem(const rule_parameters&, const grid&)> problem_of_grid{};
    optional_function<void(const rule_parameters&, const sequence&, std::uint64_t, std::uint64_t, seen_keys&)>
        add_keys{};
    optional_function<void(const rule_parameters&)> check{};
    /// The numbers of its text form, and back, where they are not the members of the struct.
    optional_function<void(const rule_parameters&, std::int64_t*)> values{};
    optional_function<rule_parameters(const std::int64_t*)> from{};
    /// A text form of its own, and back: false where the text is not of this struct.
    optional_function<void(const rule_parameters&, std::string&)> write{};
    optional_function<bool(std::string_view, rule_parameters&)> read{};

    /// The sum over a block of lengths.
    template <class N>
    [[nodiscard]] constexpr const auto& over() const {
        if constexpr (sizeof(N) == 2) {
            return over_short;
        } else {
            return over_long;
        }
    }
};

/// True where two tables are of one struct. A struct has one table, except in libraries that hide their symbols: their
/// tables are compared by the struct's name with its namespaces, if no other unit can have a struct of that name.
[[nodiscard]] constexpr bool is_same_struct(const rule_table& a, const rule_table& b) {
    if (a.id != b.id || a.name != b.name) {
        return false;  // first, since no two addresses differ in a constant for g++ with -fsanitize=undefined
    }
    if (&a == &b) {
        return true;
    }
    const std::string_view own = struct_in(a.spelled);
    return own == struct_in(b.spelled) && own.find_first_of("({") == std::string_view::npos &&
           own.find("<unnamed>") == std::string_view::npos;
}

/// Throws `error` at `field` where two structs have one name: texts, saved states and kernels could not tell their
/// rules apart.
constexpr void require_own_name(const rule_table& a, const rule_table& b, const char* field) {
    if (a.id == b.id && a.name == b.name && !is_same_struct(a, b)) {
        refuse(field, {"\"", a.name, "\" is the name of two structs, ", struct_in(a.spelled), " and ",
                       struct_in(b.spelled), ": rename one of them"});
    }
}

/// Throws `error` where a parameter is out of its range or the struct's own check refuses it.
constexpr void check_parameters(const rule_table& table, const rule_parameters& words) {
    for (std::size_t i = 0; table.checks_parameters && i < table.text_parameters; ++i) {
        static_cast<void>(in_range(table.parameters[i], words.of[i]));
    }
    if (table.check) {
        table.check(words);
    }
}

/// The parameters of a rule from the numbers of its text form; a number out of its range is an `error` that names it.
[[nodiscard]] constexpr rule_parameters words_of(const rule_table& table, const std::int64_t* numbers) {
    rule_parameters words{};
    for (std::size_t i = 0; i < table.text_parameters; ++i) {
        const std::int32_t number = in_range(table.parameters[i], numbers[i]);
        if (!table.from) {
            words.of[i] = number;
        }
    }
    return table.from ? table.from(numbers) : words;
}

/// Appends the text form of a rule: "name", "name(7)", "name(7,shift=3)".
[[gnu::cold, gnu::noinline]] inline void write_rule(const rule_table& table, const rule_parameters& words,
                                                    std::string& to) {
    if (table.write) {
        table.write(words, to);
        return;
    }
    append(to, {table.name});
    std::int64_t values[most_text_parameters]{words.of[0], words.of[1], words.of[2], words.of[3]};
    if (table.values) {
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

/// Reads the text that `write_rule` wrote: false where it is of another struct, `error` where its numbers are bad.
[[nodiscard, gnu::cold, gnu::noinline]] inline bool read_words(const rule_table& table, std::string_view text,
                                                               rule_parameters& words) {
    if (table.read) {
        return table.read(text, words);
    }
    std::int64_t numbers[most_text_parameters]{};
    const bool is_own = read_call(text, table.name, table.parameters, table.text_parameters, numbers);
    words = is_own ? words_of(table, numbers) : words;
    return is_own;
}

/// The sequence of the patches of one frame, for a rule that counts frames as sequences.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr sequence sequence_of_frame(const grid& g) {
    return sequence{static_cast<std::uint32_t>(g.frame_patches())};
}

/// The sum of a rule over a block, sequence by sequence; `overflow` above 64 bits.
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

}  // namespace floptally::detail
