// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// The moments of a batch as rules. Every tally keeps them of every modality.

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

/// The tokens on the other side of cross attention, Σ k. Grids and sound have none.
struct keys {
    static constexpr std::string_view name = "keys"sv;
    static constexpr bool frames_are_sequences = false;
    static constexpr bool reads_other_side = true;
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.keys; }
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
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .crossed = 1}; }
};

}  // namespace floptally::moment_rules
