// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The moments of a batch as statistics, and the accumulators that a caller measures. Every tally keeps the moments of
/// every modality.

/// The types of moments: sums that every tally has, such as Σ length and Σ length².
namespace floptally::inline v0_3::moment_statistics {

/// The number of sequences with at least one token.
struct count {
    static constexpr std::string_view name = "count"sv;
    static constexpr bool frames_are_sequences = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.length != 0 ? 1 : 0; }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .count = 1}; }
};

/// The number n of new tokens of a sequence. Its sum over a batch is Σ n.
struct tokens {
    static constexpr std::string_view name = "tokens"sv;
    static constexpr bool frames_are_sequences = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.length; }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .half_tokens = 2}; }
};

/// The square of the number n of new tokens of a sequence. Its sum over a batch is Σ n².
struct squares {
    static constexpr std::string_view name = "squares"sv;
    static constexpr bool frames_are_sequences = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return std::uint64_t{s.length} * s.length;
    }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .half_squares = 2}; }
};

/// The number n of new tokens of a sequence times the number `past` of its cached tokens. Its sum over a batch is Σ
/// n·past.
struct cached {
    static constexpr std::string_view name = "cached"sv;
    static constexpr bool frames_are_sequences = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return std::uint64_t{s.length} * s.past;
    }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .cached = 1}; }
};

/// The number k of encoder tokens to which a sequence attends in cross attention. Its sum over a batch is Σ k. For a
/// grid it is the number of tokens of its text, for an audio clip 0.
struct keys {
    static constexpr std::string_view name = "keys"sv;
    static constexpr bool frames_are_sequences = false;
    static constexpr bool reads_other_side = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.keys; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const { return g.keys; }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .keys = 1}; }
};

/// The number n of new tokens of a sequence times the number k of encoder tokens. Its sum over a batch is Σ n·k. For a
/// grid, n is the number of patches and k the number of tokens of its text.
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

}  // namespace floptally::moment_statistics

/// The types of statistics that are no masks: patches, merged patches, blocks, and what the caller measures.
namespace floptally::inline v0_3::unit_statistics {

/// A named accumulator that the caller measures and adds with `tally::add_measured`: visits of experts, tokens of a
/// loss mask. Samples add nothing to it.
struct measured {
    char letters[16];  ///< the characters of the name, followed by zeros

    static constexpr std::string_view name = "measured"sv;
    static constexpr bool is_measured = true;

    /// Returns the name of the accumulator.
    [[nodiscard]] constexpr std::string_view accumulator() const {
        std::size_t size = 0;
        while (size < sizeof letters && letters[size] != '\0') {
            ++size;
        }
        return {letters, size};
    }
    /// Returns the accumulator of that name. A name has 1 to 16 of a–z, 0–9 and _. Throws `error` for any other name.
    [[nodiscard]] static constexpr measured named(std::string_view accumulator) {
        measured result{};
        bool valid = !accumulator.empty() && accumulator.size() <= sizeof result.letters;
        for (std::size_t i = 0; valid && i < accumulator.size(); ++i) {
            const char letter = accumulator[i];
            valid = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
            result.letters[i] = letter;
        }
        if (!valid) {
            detail::refuse("measured",
                           {"a name must have 1 to 16 characters of a-z, 0-9 and _, got \"", accumulator, "\""});
        }
        return result;
    }
    /// If the accumulator is named "routed" (visits of experts), returns the moment `routed` that every tally has. For
    /// any other name returns no moment.
    [[nodiscard]] constexpr moment_form moments() const {
        return accumulator() == "routed" ? moment_form{.exists = true, .routed = 1} : moment_form{};
    }
    /// Returns the shape `units` for every accumulator except "later_pairs". A caller without grids adds to
    /// "later_pairs" the pairs between tokens of one image that a causal mask lacks.
    [[nodiscard]] constexpr pair_shape shape() const {
        return accumulator() == "later_pairs" ? pair_shape::beyond_causal : pair_shape::units;
    }
    /// Appends the text of the statistic, "measured(name)". `read` reads this text.
    void write(std::string& to) const { detail::append(to, {"measured(", accumulator(), ")"}); }
    [[nodiscard]] static bool read(std::string_view text, measured& result) {
        const bool is_own = text.size() > 10 && text.substr(0, 9) == "measured(" && text.back() == ')';
        result = is_own ? named(text.substr(9, text.size() - 10)) : result;
        return is_own;
    }
};

}  // namespace floptally::unit_statistics
