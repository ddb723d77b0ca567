// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The moments of a batch as rules, which every tally keeps of every modality, and the words that a caller measures.

namespace floptally::moment_rules {

/// The number of sequences with at least one token.
struct count {
    static constexpr std::string_view name = "count"sv;
    static constexpr bool frames_are_sequences = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.length != 0 ? 1 : 0; }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .count = 1}; }
};

/// The new tokens, Σ n.
struct tokens {
    static constexpr std::string_view name = "tokens"sv;
    static constexpr bool frames_are_sequences = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.length; }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .half_tokens = 2}; }
};

/// The squares of the lengths, Σ n².
struct squares {
    static constexpr std::string_view name = "squares"sv;
    static constexpr bool frames_are_sequences = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return std::uint64_t{s.length} * s.length;
    }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .half_squares = 2}; }
};

/// New tokens times those whose keys and values are cached, Σ n·past.
struct cached {
    static constexpr std::string_view name = "cached"sv;
    static constexpr bool frames_are_sequences = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return std::uint64_t{s.length} * s.past;
    }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .cached = 1}; }
};

/// The tokens on the other side of cross attention, Σ k, or of the text of a grid. Sound has none.
struct keys {
    static constexpr std::string_view name = "keys"sv;
    static constexpr bool frames_are_sequences = false;
    static constexpr bool reads_other_side = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.keys; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const { return g.keys; }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .keys = 1}; }
};

/// New tokens times those of the other side, Σ n·k.
struct crossed {
    static constexpr std::string_view name = "crossed"sv;
    static constexpr bool frames_are_sequences = false;
    static constexpr bool reads_other_side = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return std::uint64_t{s.length} * s.keys;
    }
    FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const grid& g) const {
        return uint128{g.t * g.frame_patches()} * g.keys;
    }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .crossed = 1}; }
};

}  // namespace floptally::moment_rules

namespace floptally::unit_rules {

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

}  // namespace floptally::unit_rules
