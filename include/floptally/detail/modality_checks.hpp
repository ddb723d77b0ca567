// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/error.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/statistic_rule.hpp>

namespace floptally::detail {

/// What is executed besides the padded amounts, recompute and what a fused backward repeats, is work and no amount.
constexpr void require_amounts(view seen) {
    if (seen == view::executed) {
        throw error("view", "must be useful or padded: only FLOPs are executed, a tally has no such amounts");
    }
}

/// Throws where what is added would be lost: a model without that tower.
constexpr void require_modality(const mask_set& masks, modality which, const char* field) {
    if (!masks.has(which)) {
        refuse(field, {"this model has no ", name_of(which), which == modality::text ? "" : " tower",
                       ": build the tally with the masks() of one that has"});
    }
}

[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_too_large_a_frame(const grid& g) {
    return g.frame_patches() > max_sequence_length;
}
/// "2 x 10 x 12 patches"
[[nodiscard]] inline std::string shown(const grid& g) { return text_of({g.t, " x ", g.h, " x ", g.w, " patches"}); }

/// Throws where a grid is too large, or does not divide as a model's masks want it.
constexpr void check_grid(const grid& g, const mask_set& masks) {
    require_modality(masks, modality::vision, "grid");
    if (has_too_large_a_frame(g)) {
        refuse("grid", {shown(g), ": a frame is above ", max_sequence_length});
    }
    for (const rule& m : masks) {
        const grid_problem problem = m.problem_of(g);
        const std::int32_t side = m.parameters().of[0];
        if (problem == grid_problem::does_not_divide) {
            refuse("grid", {shown(g), " do not divide by the spatial_merge_size ", side});
        }
        if (problem == grid_problem::leaves_nothing) {
            refuse("grid", {shown(g), " are too few for convolutions over ", side, " x ", side, " of them"});
        }
        if (problem == grid_problem::not_listed) {
            const std::int32_t other = m.parameters().of[2];
            const std::string also = side == other ? "" : text_of({" or ", other});
            refuse("grid", {shown(g), ": a frame must have ", side, also});
        }
        if (problem == grid_problem::too_large) {
            refuse("grid", {shown(g), ": a clip is above ", max_sequence_length});
        }
    }
}

/// Whether the real patches fit the slot.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_room(const grid& real, const grid& slot) {
    const bool nothing = real.t * real.frame_patches() == 0;
    return nothing || (slot.t >= real.t && slot.h >= real.h && slot.w >= real.w);
}

/// Throws where they do not.
constexpr void require_room(const grid& real, const grid& slot) {
    if (!has_room(real, slot)) {
        refuse("grid", {"a slot of ", shown(slot), " has no room for ", shown(real)});
    }
}

}  // namespace floptally::detail
