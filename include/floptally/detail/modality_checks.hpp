// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>
#include <floptally/host_device.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>

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
        throw error(field, std::string("this model has no ")
                               .append(name_of(which))
                               .append(which == modality::text ? "" : " tower")
                               .append(": build the tally with the masks() of one that has"));
    }
}

[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_too_large_a_frame(const grid& g) {
    return g.frame_patches() > max_sequence_length;
}
/// Merging would leave a rest.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_cut_by(const grid& g, const mask& m) {
    const bool merged = m.kind() == mask_kind::merged_patches || m.kind() == mask_kind::pooled_patches;
    return merged && (g.h % m.first() != 0 || g.w % m.first() != 0);
}
/// Convolutions would leave nothing.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_lost_by(const grid& g, const mask& m) {
    return m.kind() == mask_kind::strided_cells && g.t * g.frame_patches() != 0 && m.frame_pairs(g) == 0;
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_too_large_for(const grid& g, const mask& m) {
    return m.kind() == mask_kind::clip_squares &&
           uint128{g.t} * (g.frame_patches() + static_cast<std::uint64_t>(m.first())) > max_sequence_length;
}
/// Whether a grid of a tally with such a mask can be counted.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_valid_for(const grid& g, const mask& m) {
    return !is_cut_by(g, m) && !is_lost_by(g, m) && !is_too_large_for(g, m);
}

/// "2 x 10 x 12 patches"
[[nodiscard]] inline std::string shown(const grid& g) {
    return std::to_string(g.t) + " x " + std::to_string(g.h) + " x " + std::to_string(g.w) + " patches";
}

/// Throws where a grid is too large, or does not divide as a model's masks want it.
constexpr void check_grid(const grid& g, const mask_set& masks) {
    require_modality(masks, modality::vision, "grid");
    if (has_too_large_a_frame(g)) {
        throw error("grid", shown(g) + ": a frame is above " + std::to_string(max_sequence_length));
    }
    for (const mask& m : masks) {
        const std::int64_t side = m.first();
        if (is_cut_by(g, m)) {
            throw error("grid", shown(g) + " do not divide by the spatial_merge_size " + std::to_string(side));
        }
        if (is_lost_by(g, m)) {
            throw error("grid", shown(g) + " are too few for convolutions over " + std::to_string(side) + " x " +
                                    std::to_string(side) + " of them");
        }
        if (is_too_large_for(g, m)) {
            throw error("grid", shown(g) + ": a clip is above " + std::to_string(max_sequence_length));
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
        throw error("grid", "a slot of " + shown(slot) + " has no room for " + shown(real));
    }
}

}  // namespace floptally::detail
