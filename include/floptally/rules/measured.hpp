// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/rules/rule.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Words that a caller measures: visits of experts, tokens of a loss mask.

namespace floptally {

namespace unit_rules {

/// A named word that a caller measures and adds by `tally::add_measured`: visits of experts, tokens of a loss mask. No
/// sample adds to it.
struct measured {
    char letters[16];  ///< the name, then zeros

    static constexpr std::string_view name = "measured"sv;
    static constexpr bool is_measured = true;

    /// The name of the word.
    [[nodiscard]] constexpr std::string_view word() const {
        std::size_t size = 0;
        while (size < sizeof letters && letters[size] != '\0') {
            ++size;
        }
        return {letters, size};
    }
    /// The word of that name, 1 to 16 of a–z, 0–9 and _; another name is `error`.
    [[nodiscard]] static constexpr measured of(std::string_view word) {
        measured made{};
        bool valid = !word.empty() && word.size() <= sizeof made.letters;
        for (std::size_t i = 0; valid && i < word.size(); ++i) {
            const char letter = word[i];
            valid = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
            made.letters[i] = letter;
        }
        if (!valid) {
            detail::refuse("measured", {"a name has 1 to 16 of a-z, 0-9 and _, got \"", word, "\""});
        }
        return made;
    }
    /// The moment that "routed", the visits of experts, is: every tally keeps it.
    [[nodiscard]] constexpr moment_form moments() const {
        return word() == "routed" ? moment_form{.exists = true, .routed = 1} : moment_form{};
    }
    /// The shape of its count. "later_pairs" are the pairs that tokens of images see besides a causal mask, where no
    /// grid says how many.
    [[nodiscard]] constexpr pair_shape shape() const {
        return word() == "later_pairs" ? pair_shape::beyond_causal : pair_shape::units;
    }
    /// Its text form, "measured(name)", and back.
    void write(std::string& to) const { detail::append(to, {"measured(", word(), ")"}); }
    [[nodiscard]] static bool read(std::string_view text, measured& made) {
        const bool is_own = text.size() > 10 && text.substr(0, 9) == "measured(" && text.back() == ')';
        made = is_own ? of(text.substr(9, text.size() - 10)) : made;
        return is_own;
    }
};

}  // namespace unit_rules

/// The rule of the word that a caller measures under that name.
[[nodiscard]] constexpr rule measured(std::string_view name) { return unit_rules::measured::of(name); }

/// The name of the word for work that runs once in each pass of a model, whatever its batch: products of parameters
/// alone. Its number is not summed over layers, as visits of experts are, so that rows over it add up and scale as rows
/// over tokens do.
inline constexpr std::string_view passes_word = "passes";
/// True for the word `passes_word`.
[[nodiscard]] constexpr bool counts_passes(const rule& word) {
    return word.is<unit_rules::measured>() && word.as<unit_rules::measured>().word() == passes_word;
}

}  // namespace floptally
