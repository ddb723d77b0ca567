// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// Amounts that one sequence, grid or clip of sound adds to a word of its tower. They are equal on the host and on a
/// device. The amount of a grid can be above 64 bits.

namespace floptally::detail {

/// The modality of a sample.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality modality_of(const sequence& /*unused*/) {
    return modality::text;
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality modality_of(const grid& /*unused*/) { return modality::vision; }
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality modality_of(const audio_clip& /*unused*/) {
    return modality::audio;
}

/// The amount that a sample adds to a fixed statistic.
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
    if (what == statistic::keys) {
        return g.keys;
    }
    return g.t * amount_of(what, sequence{.length = static_cast<std::uint32_t>(g.frame_patches()), .keys = g.keys});
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of(statistic what, const audio_clip& clip) {
    return amount_of(what, sequence{clip.frames});
}

/// The amount that a sample adds to the word of a rule of its modality; 0 where the word is measured.
template <class Sample>
[[nodiscard]] constexpr uint128 amount_of(const rule& what, const Sample& sample) {
    return what.is_measured() ? 0 : what.amount_of_countable(sample);
}

}  // namespace floptally::detail
