// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_checks.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Checks of a sample against the masks of a tally, under one name for each kind of sample.

namespace floptally::detail {

/// Throws for the executed view, which a tally does not have: recompute and what a fused backward repeats are work, no
/// amounts.
constexpr void require_amounts(view seen) {
    if (seen == view::executed) {
        throw error("view", "must be useful or padded: only FLOPs are executed, a tally has no such amounts");
    }
}

/// Throws where a sample would be lost, since the model does not have its modality.
constexpr void require_modality(const mask_set& masks, modality which, const char* field) {
    if (!masks.has(which)) {
        refuse(field, {"this model has no ", name_of(which), which == modality::text ? "" : " tower",
                       ": build the tally with the masks() of one that has"});
    }
}

/// Throws where a grid is too large, or does not divide as a model's masks want it.
constexpr void check_grid(const grid& g, const mask_set& masks) {
    require_modality(masks, modality::vision, "grid");
    if (has_too_large_a_frame(g)) {
        throw error("grid", text_of_large_frame(g));
    }
    for (const rule& m : masks) {
        const grid_problem problem = m.problem_of(g);
        if (problem != grid_problem::none) {
            throw error("grid", text_of_problem(g, problem, m.parameters()));
        }
    }
}

/// True where the real patches and their text fit the slot.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_room(const grid& real, const grid& slot) {
    const bool nothing = real.t * real.frame_patches() == 0;
    return slot.keys >= real.keys && slot.second >= real.second && slot.third >= real.third &&
           slot.fourth >= real.fourth && slot.condition >= real.condition &&
           (nothing || (slot.t >= real.t && slot.h >= real.h && slot.w >= real.w));
}

/// Throws where the real patches or their text do not fit the slot.
constexpr void require_room(const grid& real, const grid& slot) {
    require_room("keys", real.keys, slot.keys);
    require_room("second", real.second, slot.second);
    require_room("third", real.third, slot.third);
    require_room("fourth", real.fourth, slot.fourth);
    require_room("condition", real.condition, slot.condition);
    if (!has_room(real, slot)) {
        refuse("grid", {"a slot of ", shown(slot), " has no room for ", shown(real)});
    }
}

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
