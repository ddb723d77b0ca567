// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>

namespace floptally {

/// How a diffusion model makes tokens of latents: patches of `side` x `side` cells of `frames` frames; a rest is cut
/// off, or with `filled` padded to a patch. Each stream of tokens is padded to a multiple of `multiple`, and `prefix`
/// tokens that belong to neither the grid nor the text stand beside them.
struct latent_patches {
    std::int64_t side = 1;
    std::int64_t frames = 1;
    std::int64_t multiple = 1;
    std::int64_t prefix = 0;
    bool filled = false;
};

/// The tokens that see each other: all of a sample, those of a frame, or those at one place of all frames. Likewise how
/// often a text stands: once in a sample, once for each frame, or once for each place.
enum class latent_reach : std::uint8_t { sample, frame, place };

/// The streams of tokens of a sample: those of its grid, of its texts and of its conditions.
/// Streams add up. The second and the third text have two bits each: a class may repeat them up to three times.
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

/// The numbers of the rules below, in four integers. The first is the side, which errors show.
struct packed_patches {
    std::int32_t side;
    std::int32_t prefix;
    std::int32_t frames;    ///< and 2^16 times the multiple
    std::int32_t switches;  ///< filled 1; reach 2, 4; eight bits of streams from 8 (queries) and from 2048 (keys)

    static constexpr std::uint32_t streams_of_queries = 3;  ///< their first bits
    static constexpr std::uint32_t streams_of_keys = 11;
    static constexpr std::uint32_t all_streams = 0xFF;
    static constexpr std::uint32_t streams_of_cells = 5;  ///< those of the grid and its conditions

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
    /// A stream padded to the multiple.
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
    /// The frames, the places, or the one sample that a reach parts tokens into.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t parts(const grid& g, std::uint64_t reach) const {
        return reach == 0 || token_frames(g) * of_token_frame(g) == 0     ? 1
               : reach == static_cast<std::uint64_t>(latent_reach::frame) ? token_frames(g)
                                                                          : of_token_frame(g);
    }
    /// Tokens of some streams, below 2^64 where the grid has no problem; of a sample without a cell only those of its
    /// texts.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t tokens(const grid& g, std::uint64_t streams) const {
        const std::uint64_t own = token_frames(g) * of_token_frame(g);
        const std::uint64_t some =
            ((streams & 1) != 0 ? padded(own) : 0) + ((streams & 2) != 0 ? padded(g.keys) : 0) +
            ((streams & 4) != 0 ? padded(static_cast<std::uint32_t>(g.condition / patch_cells())) : 0) +
            (streams >> 3 & 3) * padded(g.second) + (streams >> 5 & 3) * padded(g.third) +
            ((streams & 128) != 0 ? padded(g.fourth) : 0);
        return some + (own == 0 ? 0U : static_cast<std::uint32_t>(prefix));
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t queries() const {
        return switched(streams_of_queries, all_streams);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t seen_streams() const {
        return switched(streams_of_keys, all_streams);
    }
    /// The cells of a patch.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t patch_cells() const {
        const auto patch = static_cast<std::uint64_t>(side);
        return patch * patch * (static_cast<std::uint32_t>(frames) & 0xFFFFU);
    }
    constexpr void check() const {
        if (side < 1 || (static_cast<std::uint32_t>(frames) & 0xFFFFU) == 0 || multiple() == 0) {
            refuse("side", {"of patches must be at least 1, got ", side});
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

    /// The numbers of the text form, and back: side, frames, multiple, prefix, filled, and what the rule has besides.
    FLOPTALLY_HOST_DEVICE constexpr void common_values(std::int64_t* to) const {
        to[0] = side;
        to[1] = static_cast<std::uint32_t>(frames) & 0xFFFFU;
        to[2] = static_cast<std::int64_t>(multiple());
        to[3] = prefix;
        to[4] = static_cast<std::int64_t>(switched(0, 1));
    }
    [[nodiscard]] static constexpr packed_patches of(const std::int64_t* numbers, std::int64_t more) {
        return {static_cast<std::int32_t>(numbers[0]), static_cast<std::int32_t>(numbers[3]),
                static_cast<std::int32_t>(numbers[1] | numbers[2] << 16), static_cast<std::int32_t>(numbers[4] | more)};
    }
};

}  // namespace detail

}  // namespace floptally
