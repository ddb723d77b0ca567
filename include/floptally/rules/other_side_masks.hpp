// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/packed_patches.hpp>
#include <floptally/rules/detail/rule_call.hpp>
#include <floptally/rules/seen_keys.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// The masks that read the other side of an encoder-decoder, `sequence::keys`, and the rules of diffusion: tokens that
/// a model makes of a grid of latents and of the text that goes with it, `grid::keys`, and the pairs of both.
/// Enumerated in tests/rules/mask.test.cpp and latent_rules.test.cpp, the former proven in tests/proofs.

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

namespace floptally {

namespace unit_rules {

/// The tokens of a grid of latents.
struct latent_tokens : detail::packed_patches {
    static constexpr std::string_view name = "latent_tokens"sv;
    static constexpr rule_parameter parameters[] = {{"side", 1, 0xFFFF},
                                                    {"frames", 1, 0xFFFF, 1},
                                                    {"multiple", 1, 0x7FFF, 1},
                                                    {"prefix", 0, 0x7FFF'FFFF, 0},
                                                    {"filled", 0, 1, 0}};

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const { return tokens(g, 1); }
    constexpr void values(std::int64_t* to) const { common_values(to); }
    [[nodiscard]] static constexpr latent_tokens from(const std::int64_t* numbers) { return {of(numbers, 0)}; }
};

/// The tokens of a grid of latents and of its text, or those of its text alone; with `each`, the text and the prefix
/// once for each frame or each place of the grid.
struct joint_tokens : detail::packed_patches {
    static constexpr std::string_view name = "joint_tokens"sv;
    static constexpr bool reads_other_side = true;
    static constexpr rule_parameter parameters[] = {
        {"side", 1, 0xFFFF}, {"frames", 1, 0xFFFF, 1}, {"multiple", 1, 0x7FFF, 1}, {"prefix", 0, 0x7FFF'FFFF, 0},
        {"filled", 0, 1, 0}, {"streams", 0, 255, 3},   {"each", 0, 2, 0}};

    /// Below 2^64: a grid and its texts have less than 2^32 tokens together.
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const {
        const std::uint64_t own = tokens(g, queries() & streams_of_cells) - tokens(g, 0);
        return own + parts(g, switched(1, 3)) * tokens(g, queries() & ~std::uint64_t{streams_of_cells});
    }
    constexpr void values(std::int64_t* to) const {
        common_values(to);
        to[5] = static_cast<std::int64_t>(queries());
        to[6] = static_cast<std::int64_t>(switched(1, 3));
    }
    [[nodiscard]] static constexpr joint_tokens from(const std::int64_t* numbers) {
        return {of(numbers, numbers[5] << streams_of_queries | numbers[6] << 1)};
    }
};

/// Products of the lengths of a sample: its tokens to the power `tokens`, times those of its texts to theirs. Pairs of
/// tokens that meet a third are powers(3), an alignment of other sequences that meets the pairs powers(2,text=1). The
/// second text counts in windows of `window` tokens, the last of them filled up. Of a sequence with a past the first
/// factor is its new tokens, the others all: rows add up.
struct stream_powers {
    std::int32_t tokens;
    std::int32_t text;
    std::int32_t second;
    std::int32_t window;

    static constexpr std::string_view name = "powers"sv;
    static constexpr bool frames_are_sequences = false;
    static constexpr bool reads_other_side = true;
    static constexpr rule_parameter parameters[] = {
        {"tokens", 0, 3}, {"text", 0, 3, 0}, {"second", 0, 3, 0}, {"window", 1, 0x7FFF'FFFF, 1}};

    /// Below 2^96: three lengths at most, each below 2^32.
    FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const grid& g) const {
        const auto tokens_of_window = static_cast<std::uint32_t>(window);
        const std::uint64_t windows = (std::uint64_t{g.second} + (tokens_of_window - 1)) / tokens_of_window;
        return power(g.t * g.frame_patches(), tokens, power(g.keys, text, power(windows, second)));
    }
    FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const sequence& s) const {
        const uint128 rows = tokens == 0 ? 1U : s.length;
        return second != 0 ? 0 : power(std::uint64_t{s.past} + s.length, tokens - 1, power(s.keys, text, rows));
    }
    /// The streams of a grid's sample that it counts (`token_stream`).
    [[nodiscard]] constexpr std::uint64_t streams() const {
        return static_cast<std::uint64_t>((tokens != 0 ? token_stream::grid : token_stream{}) +
                                          (text != 0 ? token_stream::text : token_stream{}) +
                                          (second != 0 ? token_stream::second : token_stream{}));
    }
    constexpr void check() const {
        const std::int64_t factors = std::int64_t{tokens} + text + second;
        if (factors < 1 || factors > 3) {
            detail::refuse("powers", {"must have one to three factors, got ", factors});
        }
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return uint128{g.t} * g.frame_patches() > max_sequence_length ? grid_problem::too_large : grid_problem::none;
    }

  private:
    /// `product` times a length to the power `exponent`, which may be below 0 and is then 0.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE static constexpr uint128 power(std::uint64_t length, std::int32_t exponent,
                                                                       uint128 product = 1) {
        FLOPTALLY_ROLLED
        for (std::int32_t k = 0; k < exponent; ++k) {
            product *= length;
        }
        return product;
    }
};

}  // namespace unit_rules

namespace mask_rules {

/// Each token of a grid of latents sees every other of the sample, of its frame, or at its place in all frames.
struct latent_pairs : detail::packed_patches {
    static constexpr std::string_view name = "latent_pairs"sv;
    static constexpr rule_parameter parameters[] = {{"side", 1, 0xFFFF},        {"frames", 1, 0xFFFF, 1},
                                                    {"multiple", 1, 0x7FFF, 1}, {"prefix", 0, 0x7FFF'FFFF, 0},
                                                    {"filled", 0, 1, 0},        {"reach", 0, 2, 0}};

    FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const grid& g) const {
        const uint128 seen = switched(1, 3) == static_cast<std::uint64_t>(latent_reach::frame)   ? of_token_frame(g)
                             : switched(1, 3) == static_cast<std::uint64_t>(latent_reach::place) ? token_frames(g)
                                                                                                 : tokens(g, 1);
        return tokens(g, 1) * seen;
    }
    constexpr void values(std::int64_t* to) const {
        common_values(to);
        to[5] = static_cast<std::int64_t>(switched(1, 3));
    }
    [[nodiscard]] static constexpr latent_pairs from(const std::int64_t* numbers) {
        return {of(numbers, numbers[5] << 1)};
    }
};

/// Each token of some streams sees every token of some streams: joint attention, (n + m)²; cross attention, n·m.
struct joint_pairs : detail::packed_patches {
    static constexpr std::string_view name = "joint_pairs"sv;
    static constexpr bool reads_other_side = true;
    static constexpr rule_parameter parameters[] = {
        {"side", 1, 0xFFFF}, {"frames", 1, 0xFFFF, 1}, {"multiple", 1, 0x7FFF, 1}, {"prefix", 0, 0x7FFF'FFFF, 0},
        {"filled", 0, 1, 0}, {"queries", 1, 255, 3},   {"keys", 1, 255, 3}};

    FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const grid& g) const {
        return uint128{tokens(g, queries())} * tokens(g, seen_streams());
    }
    constexpr void values(std::int64_t* to) const {
        common_values(to);
        to[5] = static_cast<std::int64_t>(queries());
        to[6] = static_cast<std::int64_t>(seen_streams());
    }
    [[nodiscard]] static constexpr joint_pairs from(const std::int64_t* numbers) {
        return {of(numbers, numbers[5] << streams_of_queries | numbers[6] << streams_of_keys)};
    }
};

}  // namespace mask_rules

namespace unit {

/// The tokens that `made` makes of a grid of latents.
[[nodiscard]] constexpr unit_rules::latent_tokens latent_tokens(const latent_patches& made = {}) {
    return detail::from_numbers<unit_rules::latent_tokens>(made.side, made.frames, made.multiple, made.prefix,
                                                           made.filled ? 1 : 0);
}

/// The tokens that `made` makes of some streams of a sample, the grid's and its text's, which stands once for each
/// part.
[[nodiscard]] constexpr unit_rules::joint_tokens joint_tokens(const latent_patches& made = {},
                                                              token_stream streams = token_stream::joint,
                                                              latent_reach each = latent_reach::sample) {
    return detail::from_numbers<unit_rules::joint_tokens>(made.side, made.frames, made.multiple, made.prefix,
                                                          made.filled ? 1 : 0, static_cast<int>(streams),
                                                          static_cast<int>(each));
}

/// The products of the lengths of a sample, of three at most.
[[nodiscard]] constexpr unit_rules::stream_powers powers(std::int64_t tokens, std::int64_t text = 0,
                                                         std::int64_t second = 0, std::int64_t window = 1) {
    return detail::from_numbers<unit_rules::stream_powers>(tokens, text, second, window);
}

}  // namespace unit

}  // namespace floptally
