// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/detail/checked.hpp>
#include <floptally/host_device.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>

/// @file
/// What one sequence, grid or clip of sound adds to a word of its tower: the same on the host and on a device. Of a
/// grid it can be above 64 bits.

namespace floptally::detail {

[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality modality_of(const sequence& /*unused*/) {
    return modality::text;
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality modality_of(const grid& /*unused*/) { return modality::vision; }
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality modality_of(const audio_clip& /*unused*/) {
    return modality::audio;
}

/// To a fixed statistic.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of(statistic what, const sequence& s) {
    const std::uint64_t n = s.length;
    switch (what) {
        case statistic::count:
            return n != 0 ? 1 : 0;
        case statistic::tokens:
            return n;
        case statistic::keys:
            return s.keys;
        case statistic::squares:
            return n * n;
        case statistic::cached:
            return n * s.past;
        case statistic::crossed:
            return n * s.keys;
        default:  // routed: known by its router; pairs: of a mask
            return 0;
    }
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of(statistic what, const grid& g) {
    return g.t * amount_of(what, sequence{static_cast<std::uint32_t>(g.frame_patches())});
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of(statistic what, const audio_clip& clip) {
    return amount_of(what, sequence{clip.frames});
}

/// To the word of a mask of that tower.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of(const mask& m, const sequence& s) { return m.pairs(s); }
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of(const mask& m, const grid& g) {
    return m.is_of_whole_clips() ? uint128{m.pairs(g)} : uint128{g.t} * m.frame_pairs(g);
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of(const mask& m, const audio_clip& clip) {
    return m.pairs(clip);
}

}  // namespace floptally::detail
