// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/pair_rows.hpp>
#include <floptally/rules/detail/rule_call.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// Rules over clips of sound. Enumerated in tests/descriptors/tower.test.cpp, proven in tests/proofs.

namespace floptally::unit_rules {

/// Frames that convolutions leave of a clip of sound: ⌊(frames − field)/stride⌋ + 1. With a `chunk` the clip is first
/// cut into chunks of so many frames, of which the last may be shorter.
struct strided_frames {
    std::int32_t field;
    std::int32_t stride;
    std::int32_t chunk;

    static constexpr std::string_view name = "strided_frames"sv;
    static constexpr rule_parameter parameters[] = {{"field", -0x7FFF'FFFF}, {"stride", 1}, {"chunk", 0, 0xFFFF, 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const audio_clip& clip) const {
        return detail::strided_chunks(clip.frames, field, stride, static_cast<std::uint64_t>(chunk));
    }
};

}  // namespace floptally::unit_rules

namespace floptally::unit {

/// Frames that convolutions leave of a clip of sound.
template <whole_number Field, whole_number Stride, whole_number Chunk = int>
[[nodiscard]] constexpr unit_rules::strided_frames strided_frames(Field field, Stride stride, Chunk chunk = 0) {
    return detail::from_numbers<unit_rules::strided_frames>(field, stride, chunk);
}

}  // namespace floptally::unit

namespace floptally::mask_rules {

/// The pairs of `unit_rules::strided_frames` that all see each other: their square. With a `window` they see each other
/// within consecutive windows of so many, which do not stop at chunks.
struct strided_squares {
    std::int32_t field;
    std::int32_t stride;
    std::int32_t chunk;
    std::int32_t window;

    static constexpr std::string_view name = "strided_squares"sv;
    static constexpr rule_parameter parameters[] = {
        {"field", -0x7FFF'FFFF}, {"stride", 1}, {"chunk", 0, 0xFFFF, 0}, {"window", 0, 0xFFFF, 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const audio_clip& clip) const {
        const std::uint64_t frames = unit_rules::strided_frames{field, stride, chunk}(clip);
        return window == 0 ? uint128{frames} * frames
                           : detail::chunk_square_rows(frames, static_cast<std::uint64_t>(window));
    }
};

/// `up` frames for each of `unit_rules::strided_frames`, each of which sees `left` frames before it and `right` after
/// it; −1 is unlimited, as in `mask_rules::band`.
struct strided_band {
    std::int32_t field;
    std::int32_t factors;  ///< stride, and 2^24 times up
    std::int32_t left;
    std::int32_t right;

    static constexpr std::string_view name = "strided_band"sv;
    static constexpr rule_parameter parameters[] = {{"field", -0x7FFF'FFFF},
                                                    {"stride", 1, 0xFF'FFFF},
                                                    {"window.left", -1},
                                                    {"window.right", -1},
                                                    {.name = "up", .least = 1, .most = 0x7F, .fallback = 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int32_t stride() const { return factors & 0xFF'FFFF; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int32_t up() const { return factors >> 24; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const audio_clip& clip) const {
        const uint128 frames =
            uint128{unit_rules::strided_frames{field, stride(), 0}(clip)} * static_cast<std::uint64_t>(up());
        return frames + detail::capped_ramp<uint128>(frames, left) + detail::capped_ramp<uint128>(frames, right);
    }
    constexpr void values(std::int64_t* to) const {
        for (const std::int32_t number : {field, stride(), left, right, up()}) {
            *to++ = number;
        }
    }
    [[nodiscard]] static constexpr strided_band from(const std::int64_t* numbers) {
        return {static_cast<std::int32_t>(numbers[0]), static_cast<std::int32_t>(numbers[1] + (numbers[4] << 24)),
                static_cast<std::int32_t>(numbers[2]), static_cast<std::int32_t>(numbers[3])};
    }
};

}  // namespace floptally::mask_rules
