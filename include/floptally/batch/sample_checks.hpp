// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/batch/modality_checks.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_checks.hpp>

/// @file
/// Checks of a sample against the masks of a tally, under one name for each kind of sample.

namespace floptally::detail {

/// Throws for a sample that a tally of these masks does not take.
constexpr void check_sample(const sequence& s, const mask_set& masks) {
    require_modality(masks, modality::text, "length");
    check_sequence(s);
}
constexpr void check_sample(const grid& g, const mask_set& masks) { check_grid(g, masks); }
constexpr void check_sample(const audio_clip& /*clip*/, const mask_set& masks) {
    require_modality(masks, modality::audio, "audio_frames");
}

/// Throws where the real frames do not fit the slot.
constexpr void require_room(const audio_clip& real, const audio_clip& slot) {
    require_room("audio_frames", real.frames, slot.frames);
}

/// True for a sample that counts nothing, so that its slot is padding only.
[[nodiscard]] constexpr bool is_mock(const sequence& real) { return real.length == 0; }
[[nodiscard]] constexpr bool is_mock(const grid& real) { return real.t == 0 || real.frame_patches() == 0; }
[[nodiscard]] constexpr bool is_mock(const audio_clip& real) { return real.frames == 0; }

}  // namespace floptally::detail
