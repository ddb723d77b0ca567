// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/statistic_call.hpp>
#include <floptally/statistics/seen_keys.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The masks that read the encoder's side of an encoder-decoder (`sequence::keys`), and the statistics of
/// diffusion models. The statistics of diffusion models count tokens of a grid of latents and of its texts
/// (`grid::keys`), and their pairs. All are checked by enumeration in tests/statistics/mask.test.cpp and
/// latent_statistics.test.cpp. The masks of the encoder's side are proven in tests/proofs.

namespace floptally::inline v0_3 {

/// How a diffusion model turns latents into tokens: one token for each patch of `side` x `side` cells of `frames`
/// frames. With `filled`, incomplete patches are padded; otherwise they are left out. Each stream of tokens is padded
/// to a multiple of `multiple`. `prefix` is the number of additional tokens that belong to neither the grid nor the
/// text.
struct latent_patches {
    std::int64_t side = 1;
    std::int64_t frames = 1;
    std::int64_t multiple = 1;
    std::int64_t prefix = 0;
    bool filled = false;
};

/// The tokens that attend to each other: all of a sample, those of a frame, or those at the same position in all
/// frames. The value also says how often a text is repeated: once for each sample, frame or position.
enum class latent_reach : std::uint8_t { sample, frame, place };

/// The streams of tokens of a sample: its grid, its texts and its conditions. Conditions are cells that are input only,
/// such as pictures to edit. Combine streams with `+`. The second and the third text have two bits each, because a
/// model may repeat them up to three times.
enum class token_stream : std::uint16_t {
    grid = 1,
    text = 2,
    joint = 3,
    condition = 4,
    second = 8,
    third = 32,
    fourth = 128
};
[[nodiscard]] constexpr token_stream operator+(token_stream a, token_stream b) {
    return static_cast<token_stream>(static_cast<std::uint16_t>(a) + static_cast<std::uint16_t>(b));
}

namespace detail {

/// The parameters of the statistics of latents, packed into four integers. The side of a patch comes first, because
/// error texts show the first parameter.
struct packed_patches {
    std::int32_t side;
    std::int32_t prefix;
    std::int32_t frames;    ///< two parameters in one integer: frames + 2^16·multiple
    std::int32_t switches;  ///< bit 0: filled; bits 1, 2: reach; bits 3 to 10: streams of queries; bits 11 to 18:
                            ///< streams of keys

    static constexpr std::uint32_t streams_of_queries = 3;  ///< lowest bit of the queries' streams in `switches`
    static constexpr std::uint32_t streams_of_keys = 11;
    static constexpr std::uint32_t all_streams = 0xFF;
    static constexpr std::uint32_t streams_of_cells = 5;  ///< bits of the streams that consist of cells: the grid and
                                                          ///< the input-only cells (`condition`)

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t switched(std::uint32_t first,
                                                                         std::uint32_t most) const {
        return static_cast<std::uint32_t>(switches) >> first & most;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t in_patches(std::uint32_t cells,
                                                                           std::uint32_t patch) const {
        return cells / patch + (switched(0, 1) != 0 && cells % patch != 0 ? 1 : 0);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t multiple() const {
        return static_cast<std::uint32_t>(frames) >> 16;
    }
    /// Returns the number of tokens of a stream, rounded up to a multiple of `multiple()`.
    template <class Tokens>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t padded(Tokens tokens) const {
        const Tokens rest = tokens % static_cast<Tokens>(multiple());
        return tokens + (rest == 0 ? 0 : multiple() - rest);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t token_frames(const grid& g) const {
        return in_patches(g.t, static_cast<std::uint32_t>(frames) & 0xFFFFU);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_token_frame(const grid& g) const {
        const auto patch = static_cast<std::uint32_t>(side);
        return in_patches(g.h, patch) * in_patches(g.w, patch);
    }
    /// Returns the number of groups of tokens for a reach: frames, positions, or one for the whole sample.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t parts(const grid& g, std::uint64_t reach) const {
        return reach == 0 || token_frames(g) * of_token_frame(g) == 0     ? 1
               : reach == static_cast<std::uint64_t>(latent_reach::frame) ? token_frames(g)
                                                                          : of_token_frame(g);
    }
    /// Returns the number of tokens of the streams whose bits are set in `streams`. The sum is below 2^64 if
    /// `problem_of` finds no problem. A sample without cells has only the tokens of its texts.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t tokens(const grid& g, std::uint64_t streams) const {
        const std::uint64_t own = token_frames(g) * of_token_frame(g);
        const std::uint64_t sum =
            ((streams & 1) != 0 ? padded(own) : 0) + ((streams & 2) != 0 ? padded(g.keys) : 0) +
            ((streams & 4) != 0 ? padded(static_cast<std::uint32_t>(g.condition / patch_cells())) : 0) +
            (streams >> 3 & 3) * padded(g.second) + (streams >> 5 & 3) * padded(g.third) +
            ((streams & 128) != 0 ? padded(g.fourth) : 0);
        return sum + (own == 0 ? 0U : static_cast<std::uint32_t>(prefix));
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t queries() const {
        return switched(streams_of_queries, all_streams);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t seen_streams() const {
        return switched(streams_of_keys, all_streams);
    }
    /// Returns the number of cells of a patch.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t patch_cells() const {
        const auto patch = static_cast<std::uint64_t>(side);
        return patch * patch * (static_cast<std::uint32_t>(frames) & 0xFFFFU);
    }
    constexpr void check() const {
        if (side < 1 || (static_cast<std::uint32_t>(frames) & 0xFFFFU) == 0 || multiple() == 0) {
            refuse("side", {"side, frames and multiple must be at least 1, got ", side, ", ",
                            static_cast<std::uint32_t>(frames) & 0xFFFFU, " and ", multiple()});
        }
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        if (g.t * g.frame_patches() != 0 && (token_frames(g) == 0 || of_token_frame(g) == 0)) {
            return grid_problem::leaves_nothing;
        }
        if (((queries() | seen_streams()) & 4) != 0 && g.condition % patch_cells() != 0) {
            return grid_problem::condition_leaves_rest;
        }
        const bool is_large = token_frames(g) * of_token_frame(g) > max_sequence_length;
        return is_large || tokens(g, all_streams) > max_sequence_length ? grid_problem::too_large : grid_problem::none;
    }

    /// Writes the numbers that the texts of all statistics of latents have: side, frames, multiple, prefix, filled.
    FLOPTALLY_HOST_DEVICE constexpr void common_values(std::int64_t* to) const {
        to[0] = side;
        to[1] = static_cast<std::uint32_t>(frames) & 0xFFFFU;
        to[2] = static_cast<std::int64_t>(multiple());
        to[3] = prefix;
        to[4] = static_cast<std::int64_t>(switched(0, 1));
    }
    /// Makes the parameters from the numbers that `common_values` wrote. `switch_bits` are the other bits of
    /// `switches`, such as reach and streams.
    [[nodiscard]] static constexpr packed_patches from_values(const std::int64_t* numbers, std::int64_t switch_bits) {
        return {static_cast<std::int32_t>(numbers[0]), static_cast<std::int32_t>(numbers[3]),
                static_cast<std::int32_t>(numbers[1] | numbers[2] << 16),
                static_cast<std::int32_t>(numbers[4] | switch_bits)};
    }
};

}  // namespace detail

}  // namespace floptally

namespace floptally::inline v0_3::mask_statistics {

/// Cross attention: every query attends to every token of the encoder's side. For q queries and k such tokens it has
/// q·k pairs.
struct cross_attention {
    static constexpr std::string_view name = "cross_attention"sv;
    static constexpr bool frames_are_sequences = false;
    static constexpr bool reads_other_side = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return std::uint64_t{s.length} * s.keys;
    }
    [[nodiscard]] constexpr moment_form moments() const { return {.exists = true, .crossed = 1}; }
    constexpr void add_keys(const sequence& s, std::uint64_t /*first*/, std::uint64_t /*end*/, seen_keys& keys) const {
        keys.add(0, s.keys);
    }
};

/// Every token of the encoder's side attends to all tokens of that side: k² pairs for k tokens. The layers of an
/// encoder have this mask if the tally counts the decoder's sequences (`cost::on_encoder`).
struct encoder {
    static constexpr std::string_view name = "encoder"sv;
    static constexpr bool frames_are_sequences = false;
    static constexpr bool is_of_other_side = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return std::uint64_t{s.keys} * s.keys;
    }
    constexpr void add_keys(const sequence& s, std::uint64_t /*first*/, std::uint64_t /*end*/, seen_keys& keys) const {
        keys.add(0, s.keys);
    }
};

/// Every token of the encoder's side attends to `left` tokens before it and `right` tokens after it; −1 means no limit,
/// as in `band`. Encoder layers with windows have this mask (T5Gemma).
struct encoder_window {
    std::int32_t left;
    std::int32_t right;

    static constexpr std::string_view name = "encoder_window"sv;
    static constexpr statistic_parameter parameters[] = {{"window.left", -1}, {"window.right", -1}};
    static constexpr bool frames_are_sequences = false;
    static constexpr bool is_of_other_side = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return own().of_length(s.keys);
    }
    /// Returns this window as a `band` over the tokens of the encoder's side.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr band own() const { return {left, right}; }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::full; }
    constexpr void add_keys(const sequence& s, std::uint64_t first, std::uint64_t end, seen_keys& keys) const {
        own().add_keys({.length = s.keys}, first, end, keys);
    }
};

}  // namespace floptally::mask_statistics

namespace floptally::inline v0_3 {

namespace unit_statistics {

/// The number of tokens of a grid of latents.
struct latent_tokens : detail::packed_patches {
    static constexpr std::string_view name = "latent_tokens"sv;
    static constexpr statistic_parameter parameters[] = {{"side", 1, 0xFFFF},
                                                         {"frames", 1, 0xFFFF, 1},
                                                         {"multiple", 1, 0x7FFF, 1},
                                                         {"prefix", 0, 0x7FFF'FFFF, 0},
                                                         {"filled", 0, 1, 0}};

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const { return tokens(g, 1); }
    constexpr void values(std::int64_t* to) const { common_values(to); }
    [[nodiscard]] static constexpr latent_tokens from(const std::int64_t* numbers) { return {from_values(numbers, 0)}; }
};

/// The number of tokens of some streams of a sample: its grid of latents, its texts, its input-only cells
/// (`grid::condition`). With `each`, the texts and the prefix count once for each frame or each position of the grid.
struct joint_tokens : detail::packed_patches {
    static constexpr std::string_view name = "joint_tokens"sv;
    static constexpr bool reads_other_side = true;
    static constexpr statistic_parameter parameters[] = {
        {"side", 1, 0xFFFF}, {"frames", 1, 0xFFFF, 1}, {"multiple", 1, 0x7FFF, 1}, {"prefix", 0, 0x7FFF'FFFF, 0},
        {"filled", 0, 1, 0}, {"streams", 0, 255, 3},   {"each", 0, 2, 0}};

    /// The sum is below 2^64, because a grid and its texts have less than 2^32 tokens together.
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
        return {from_values(numbers, numbers[5] << streams_of_queries | numbers[6] << 1)};
    }
};

/// A product of powers of lengths: the number of tokens of a sample to the power `tokens`, times the length of its
/// first text to the power `text`, times the length of its second text to the power `second`. For example, powers(3)
/// counts triples of tokens. powers(2,text=1) counts pairs of tokens times rows of an alignment, if the number of rows
/// is passed as the length of the text. The length of the second text is the number of its windows of `window` tokens,
/// rounded up. For a sequence with a past, the first factor is the number of its new tokens, and the other factors are
/// the number of all its tokens. So the counts of successive steps add up.
struct stream_powers {
    std::int32_t tokens;
    std::int32_t text;
    std::int32_t second;
    std::int32_t window;

    static constexpr std::string_view name = "powers"sv;
    static constexpr bool frames_are_sequences = false;
    static constexpr bool reads_other_side = true;
    static constexpr statistic_parameter parameters[] = {
        {"tokens", 0, 3}, {"text", 0, 3, 0}, {"second", 0, 3, 0}, {"window", 1, 0x7FFF'FFFF, 1}};

    /// The product is below 2^96: at most three lengths, each below 2^32.
    FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const grid& g) const {
        const auto tokens_of_window = static_cast<std::uint32_t>(window);
        const std::uint64_t windows = (std::uint64_t{g.second} + (tokens_of_window - 1)) / tokens_of_window;
        return power(g.t * g.frame_patches(), tokens, power(g.keys, text, power(windows, second)));
    }
    FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const sequence& s) const {
        const uint128 rows = tokens == 0 ? 1U : s.length;
        return second != 0 ? 0 : power(std::uint64_t{s.past} + s.length, tokens - 1, power(s.keys, text, rows));
    }
    /// Returns which streams of a sample the statistic counts, as bits of `token_stream`.
    [[nodiscard]] constexpr std::uint64_t streams() const {
        return static_cast<std::uint64_t>((tokens != 0 ? token_stream::grid : token_stream{}) +
                                          (text != 0 ? token_stream::text : token_stream{}) +
                                          (second != 0 ? token_stream::second : token_stream{}));
    }
    constexpr void check() const {
        const std::int64_t factors = std::int64_t{tokens} + text + second;
        if (factors < 1 || factors > 3) {
            detail::refuse("powers",
                           {"the sum of the powers, tokens + text + second, must be from 1 to 3, got ", factors});
        }
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return uint128{g.t} * g.frame_patches() > max_sequence_length ? grid_problem::too_large : grid_problem::none;
    }

  private:
    /// Returns `product` times a length to the power `exponent`. An exponent below 0 counts as 0.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE static constexpr uint128 power(std::uint64_t length, std::int32_t exponent,
                                                                       uint128 product = 1) {
        FLOPTALLY_ROLLED
        for (std::int32_t k = 0; k < exponent; ++k) {
            product *= length;
        }
        return product;
    }
};

}  // namespace unit_statistics

namespace mask_statistics {

/// Each token of a grid of latents attends to every token of the sample, of its frame, or at its position in all
/// frames. The `latent_reach` chooses one of the three.
struct latent_pairs : detail::packed_patches {
    static constexpr std::string_view name = "latent_pairs"sv;
    static constexpr statistic_parameter parameters[] = {{"side", 1, 0xFFFF},        {"frames", 1, 0xFFFF, 1},
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
        return {from_values(numbers, numbers[5] << 1)};
    }
};

/// Each token of the streams `queries` attends to every token of the streams `keys` (bits of `token_stream`). With n
/// tokens of the grid and m of the text, joint attention has (n + m)² pairs and cross attention n·m.
struct joint_pairs : detail::packed_patches {
    static constexpr std::string_view name = "joint_pairs"sv;
    static constexpr bool reads_other_side = true;
    static constexpr statistic_parameter parameters[] = {
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
        return {from_values(numbers, numbers[5] << streams_of_queries | numbers[6] << streams_of_keys)};
    }
};

}  // namespace mask_statistics

namespace unit {

/// Returns the statistic of the tokens of a grid of latents.
[[nodiscard]] constexpr unit_statistics::latent_tokens latent_tokens(const latent_patches& patches = {}) {
    return detail::from_numbers<unit_statistics::latent_tokens>(patches.side, patches.frames, patches.multiple,
                                                                patches.prefix, patches.filled ? 1 : 0);
}

/// Returns the statistic of the tokens of some streams of a sample. Its texts count once for each sample, frame or
/// position (`each`).
[[nodiscard]] constexpr unit_statistics::joint_tokens joint_tokens(const latent_patches& patches = {},
                                                                   token_stream streams = token_stream::joint,
                                                                   latent_reach each = latent_reach::sample) {
    return detail::from_numbers<unit_statistics::joint_tokens>(patches.side, patches.frames, patches.multiple,
                                                               patches.prefix, patches.filled ? 1 : 0,
                                                               static_cast<int>(streams), static_cast<int>(each));
}

/// Returns the statistic of a product of at most three lengths of a sample.
[[nodiscard]] constexpr unit_statistics::stream_powers powers(std::int64_t tokens, std::int64_t text = 0,
                                                              std::int64_t second = 0, std::int64_t window = 1) {
    return detail::from_numbers<unit_statistics::stream_powers>(tokens, text, second, window);
}

}  // namespace unit

}  // namespace floptally
