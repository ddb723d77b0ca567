// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/detail/hstu_pairs.hpp>
#include <floptally/detail/mask_kind.hpp>
#include <floptally/detail/pair_rows.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/hstu_mask.hpp>
#include <floptally/sequence.hpp>

namespace floptally::detail {

/// What a mask of this kind and these parameters attends in one sequence; kinds of a grid or of a clip of sound
/// nothing.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t pairs_of_sequence(mask_kind kind, std::int32_t left,
                                                                              std::int32_t right, std::uint8_t flags,
                                                                              const sequence& s) {
    const std::uint64_t end = std::uint64_t{s.past} + s.length;
    const auto first = static_cast<std::uint64_t>(left);
    switch (kind) {
        case mask_kind::band: {
            const std::uint64_t before = capped_ramp(end, left) - capped_ramp(s.past, left);
            return s.length + before + capped_ramp(s.length, right);
        }
        case mask_kind::top_k:
            return s.length + capped_ramp(end, left - 1) - capped_ramp(s.past, left - 1);
        case mask_kind::chunked:
            return chunked_rows(end, first) - chunked_rows(s.past, first);
        case mask_kind::compressed_keys:
            return compressed_rows(end, first) - compressed_rows(s.past, first);
        case mask_kind::cross_attention:
            return std::uint64_t{s.length} * s.keys;
        case mask_kind::box:
            return s.length * (end <= first ? end : first + 1);
        case mask_kind::window_squares:
            return window_square_rows(end, first + 1) - window_square_rows(s.past, first + 1);
        case mask_kind::chunk_squares:
            return chunk_square_rows(end, first) - chunk_square_rows(s.past, first);
        case mask_kind::within_window:
            return end <= first + 1 ? end * end - std::uint64_t{s.past} * s.past : 0;
        case mask_kind::limited_by_window:
            return end <= first + 1 ? 0 : s.length + capped_ramp(end, left) - capped_ramp(s.past, left);
        case mask_kind::encoder:
            return std::uint64_t{s.keys} * s.keys;
        case mask_kind::prefix_lm:
            return triangle(end) - triangle(s.past) + later_keys(s.past, end, first);
        case mask_kind::hstu:
            return pairs_of_hstu(s, left, right, flags);
        case mask_kind::hstu_history_squares:
            return hstu_history_squares(s, flags);
        case mask_kind::hstu_others:
            return hstu_other_pairs(s, flags);
        case mask_kind::hstu_part:
            return hstu_part_rows(s, static_cast<hstu_rows>(left), static_cast<std::uint64_t>(right));
        default:  // of a grid, or of a clip of sound
            return 0;
    }
}

/// What it attends, or the units that it is, in one frame of a grid; kinds of a sequence or of a clip of sound nothing.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t units_of_frame(mask_kind kind, std::int32_t a,
                                                                           std::int32_t b, const grid& g) {
    const auto first = static_cast<std::uint64_t>(a);
    const auto second = static_cast<std::uint64_t>(b);
    switch (kind) {
        case mask_kind::grid_windows:
            return windowed_frame(g, first, second);
        case mask_kind::merged_patches:
        case mask_kind::pooled_patches:
            return g.h / first * (g.w / first + second);
        case mask_kind::pooled_clips:
            return g.t > 1 ? g.h / first * (g.w / first) : g.frame_patches();
        case mask_kind::later_image_tokens:
            return later_within(g.h / first * (g.w / first), b);
        case mask_kind::strided_cells:
            return strided(g.h, a, b) * strided(g.w, a, b);
        case mask_kind::level_windows:
            return level_frame(g, first, second);
        case mask_kind::kept_patches:
            return kept_frame(g, first, second);
        case mask_kind::kept_squares:
            return kept_frame(g, first, second) * kept_frame(g, first, second);
        default:
            return 0;
    }
}

/// Of a grid, whose frames have `of_frame` each.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t units_of_clip(mask_kind kind, std::int32_t first,
                                                                          const grid& g, std::uint64_t of_frame) {
    const std::uint64_t patches = g.t * g.frame_patches();
    const std::uint64_t tokens = patches == 0 ? 0 : patches + g.t * static_cast<std::uint64_t>(first);
    return kind == mask_kind::clip_squares     ? tokens * tokens
           : kind == mask_kind::clips          ? std::uint64_t{patches != 0}
           : kind == mask_kind::pooled_patches ? (g.t == 0 ? 0 : of_frame)
                                               : g.t * of_frame;
}

/// Of frames of sound: themselves, or the pairs within windows of them (0: of all).
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t windowed_sound(std::uint64_t frames, std::uint64_t window,
                                                                           bool squares) {
    return !squares ? frames : window == 0 ? frames * frames : chunk_square_rows(frames, window);
}

}  // namespace floptally::detail
