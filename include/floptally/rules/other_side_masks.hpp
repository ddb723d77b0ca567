// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/rules/seen_keys.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// The masks that read the other side of an encoder-decoder, `sequence::keys`. Enumerated in tests/rules/mask.test.cpp,
/// proven in tests/proofs.

namespace floptally::mask_rules {

/// Every query sees every token of the other side: q·k.
struct cross_attention {
    static constexpr std::string_view name = "cross_attention"sv;
    static constexpr bool frames_are_sequences = false;
    static constexpr bool reads_other_side = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return std::uint64_t{s.length} * s.keys;
    }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .crossed = 1}; }
    constexpr void add_keys(const sequence& s, std::uint64_t /*first*/, std::uint64_t /*end*/,
                            detail::seen_keys& keys) const {
        keys.add(0, s.keys);
    }
};

/// Every token of the other side sees every other: k². The layers of an encoder attend so in a tally of its decoder's
/// sequences (`cost::on_encoder`).
struct encoder {
    static constexpr std::string_view name = "encoder"sv;
    static constexpr bool frames_are_sequences = false;
    static constexpr bool is_of_other_side = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return std::uint64_t{s.keys} * s.keys;
    }
    constexpr void add_keys(const sequence& s, std::uint64_t /*first*/, std::uint64_t /*end*/,
                            detail::seen_keys& keys) const {
        keys.add(0, s.keys);
    }
};

/// Every token of the other side sees `left` tokens before it and `right` after it, as in `band`; −1 is unlimited. The
/// layers of an encoder with windows attend so (T5Gemma).
struct encoder_window {
    std::int32_t left;
    std::int32_t right;

    static constexpr std::string_view name = "encoder_window"sv;
    static constexpr rule_parameter parameters[] = {{"window.left", -1}, {"window.right", -1}};
    static constexpr bool frames_are_sequences = false;
    static constexpr bool is_of_other_side = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return own().of_length(s.keys);
    }
    /// The band that it is over the tokens of the other side.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr band own() const { return {left, right}; }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::full; }
    constexpr void add_keys(const sequence& s, std::uint64_t first, std::uint64_t end, detail::seen_keys& keys) const {
        own().add_keys({.length = s.keys}, first, end, keys);
    }
};

}  // namespace floptally::mask_rules
