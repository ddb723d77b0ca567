// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/pair_rows.hpp>
#include <floptally/statistics/detail/statistic_call.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic_type.hpp>

/// @file
/// Statistics over audio clips. Each statistic is checked by enumeration in tests/descriptors/tower.test.cpp and proven
/// in tests/proofs.

namespace floptally::inline v0_3::unit_statistics {

/// The number of output frames of convolutions over an audio clip: ⌊(frames − `field`)/`stride`⌋ + 1, where `field` is
/// the receptive field minus the padding on both sides. With a `chunk` above 0 the clip is first cut into chunks of
/// that many frames. The last chunk may be shorter.
struct strided_frames {
    std::int32_t field;
    std::int32_t stride;
    std::int32_t chunk;

    static constexpr std::string_view name = "strided_frames"sv;
    static constexpr statistic_parameter parameters[] = {
        {"field", -0x7FFF'FFFF}, {"stride", 1}, {"chunk", 0, 0xFFFF, 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const audio_clip& clip) const {
        return detail::strided_chunks(clip.frames, field, stride, static_cast<std::uint64_t>(chunk));
    }
};

}  // namespace floptally::unit_statistics

namespace floptally::inline v0_3::unit {

/// Returns the statistic that counts the output frames of convolutions over an audio clip.
template <whole_number Field, whole_number Stride, whole_number Chunk = int>
[[nodiscard]] constexpr unit_statistics::strided_frames strided_frames(Field field, Stride stride, Chunk chunk = 0) {
    return detail::from_numbers<unit_statistics::strided_frames>(field, stride, chunk);
}

}  // namespace floptally::unit

namespace floptally::inline v0_3::mask_statistics {

/// The attended (query, key) pairs if every output frame of convolutions attends to every other: the square of the
/// number that `unit_statistics::strided_frames` counts. With a `window` above 0, frames attend only within consecutive
/// windows of that many frames. A window may extend over several chunks.
struct strided_squares {
    std::int32_t field;
    std::int32_t stride;
    std::int32_t chunk;
    std::int32_t window;

    static constexpr std::string_view name = "strided_squares"sv;
    static constexpr statistic_parameter parameters[] = {
        {"field", -0x7FFF'FFFF}, {"stride", 1}, {"chunk", 0, 0xFFFF, 0}, {"window", 0, 0xFFFF, 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const audio_clip& clip) const {
        const std::uint64_t frames = unit_statistics::strided_frames{field, stride, chunk}(clip);
        return window == 0 ? uint128{frames} * frames
                           : detail::chunk_square_rows(frames, static_cast<std::uint64_t>(window));
    }
};

/// The attended pairs of the output frames of convolutions (`unit_statistics::strided_frames`), after upsampling each
/// to `up` frames. A frame attends to itself, to `left` frames before it and `right` frames after it; −1 means no
/// limit.
struct strided_band {
    std::int32_t field;
    std::int32_t factors;  ///< two parameters in one integer: stride + 2^24·up
    std::int32_t left;
    std::int32_t right;

    static constexpr std::string_view name = "strided_band"sv;
    static constexpr statistic_parameter parameters[] = {{"field", -0x7FFF'FFFF},
                                                         {"stride", 1, 0xFF'FFFF},
                                                         {"window.left", -1},
                                                         {"window.right", -1},
                                                         {.name = "up", .least = 1, .most = 0x7F, .fallback = 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int32_t stride() const { return factors & 0xFF'FFFF; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int32_t up() const { return factors >> 24; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const audio_clip& clip) const {
        const uint128 frames =
            uint128{unit_statistics::strided_frames{field, stride(), 0}(clip)} * static_cast<std::uint32_t>(up());
        return frames + detail::capped_ramp<uint128>(frames, left) + detail::capped_ramp<uint128>(frames, right);
    }
    constexpr void values(std::int64_t* to) const {
        for (const std::int32_t value : {field, stride(), left, right, up()}) {
            *to++ = value;
        }
    }
    [[nodiscard]] static constexpr strided_band from(const std::int64_t* numbers) {
        return {static_cast<std::int32_t>(numbers[0]), static_cast<std::int32_t>(numbers[1] + (numbers[4] << 24)),
                static_cast<std::int32_t>(numbers[2]), static_cast<std::int32_t>(numbers[3])};
    }
};

}  // namespace floptally::mask_statistics
