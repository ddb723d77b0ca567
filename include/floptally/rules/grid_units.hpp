// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/pair_rows.hpp>
#include <floptally/rules/detail/resampled_cells.hpp>
#include <floptally/rules/detail/rule_call.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// Units of grids (images, clips of video), on which products of vision towers run. Most count a frame, and a grid is t
/// of them; `operator()(grid)` is for units of a clip as a whole. Enumerated in tests/descriptors/tower.test.cpp,
/// proven in tests/proofs.

namespace floptally::unit_rules {

/// Merged patches, each of `side` x `side`, and `line_ends` more units for each line of them. A grid that does not
/// divide is `error`.
struct merged_patches {
    std::int32_t side;
    std::int32_t line_ends;

    static constexpr std::string_view name = "merged_patches"sv;
    static constexpr rule_parameter parameters[] = {{.name = "spatial_merge_size", .least = 1},
                                                    {.name = "line_ends", .least = 0, .fallback = 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        const auto by = static_cast<std::uint32_t>(side);
        return std::uint64_t{g.h / by} * (g.w / by + static_cast<std::uint64_t>(line_ends));
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        const auto by = static_cast<std::uint32_t>(side);
        return g.h % by != 0 || g.w % by != 0 ? grid_problem::does_not_divide : grid_problem::none;
    }
};

/// Merged patches, each of `side` x `side`, after the frames of a clip were pooled into one.
struct pooled_patches {
    std::int32_t side;

    static constexpr std::string_view name = "pooled_patches"sv;
    static constexpr rule_parameter parameters[] = {{"merge_kernel_size", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const {
        return g.t == 0 ? 0 : merged_patches{side, 0}.of_frame(g);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return merged_patches{side, 0}.problem_of(g);
    }
};

/// 1 for a grid with patches, however many frames it has.
struct clips {
    static constexpr std::string_view name = "clips"sv;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const {
        return g.t * g.frame_patches() != 0 ? 1 : 0;
    }
};

/// Patches; in clips of several frames each `side` x `side` of them are pooled into one. A rest is cut off.
struct pooled_clips {
    std::int32_t side;

    static constexpr std::string_view name = "pooled_clips"sv;
    static constexpr rule_parameter parameters[] = {{"spatial_pool_stride", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        return g.t > 1 ? merged_patches{side, 0}.of_frame(g) : g.frame_patches();
    }
};

/// Merged patches of every second frame, each together with those of the frame after it; an image has one frame. The
/// last frame of an odd clip is cut off.
struct merged_pairs {
    std::int32_t side;

    static constexpr std::string_view name = "merged_pairs"sv;
    static constexpr rule_parameter parameters[] = {{"spatial_merge_size", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const {
        return merged_patches{side, 0}.of_frame(g) * (g.t > 1 ? g.t / 2 : g.t);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return merged_patches{side, 0}.problem_of(g);
    }
};

/// The pairs of merged patches that see each other within their frame.
struct merged_squares {
    std::int32_t side;

    static constexpr std::string_view name = "merged_squares"sv;
    static constexpr rule_parameter parameters[] = {{"spatial_merge_size", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        const std::uint64_t units = merged_patches{side, 0}.of_frame(g);
        return units * units;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return merged_patches{side, 0}.problem_of(g);
    }
};

/// Cells that convolutions leave of a frame: ⌊(patches − field)/stride⌋ + 1 on each side; of several levels, each of
/// twice the stride of the one before, all together. A grid of which they leave none is `error`.
struct strided_cells {
    std::int32_t field;
    std::int32_t stride;
    std::int32_t levels;

    static constexpr std::string_view name = "strided_cells"sv;
    static constexpr rule_parameter parameters[] = {
        {"field", -0x7FFF'FFFF}, {"stride", 1, 1 << 24}, {.name = "levels", .least = 1, .most = 6, .fallback = 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        std::uint64_t sum = 0;
        FLOPTALLY_ROLLED
        for (std::int32_t level = 0; level < levels; ++level) {
            sum += detail::strided(g.h, field, stride << level) * detail::strided(g.w, field, stride << level);
        }
        return sum;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return g.t * g.frame_patches() != 0 && of_frame(g) == 0 ? grid_problem::leaves_nothing : grid_problem::none;
    }
};

/// Patches of a frame that remain where a share of them, in parts per million, is left out at random, and `prefix`
/// class tokens. MAE cuts it so (arXiv:2111.06377): ⌊patches·(1 − share)⌋ in double precision.
struct kept_patches {
    std::int32_t millionths;
    std::int32_t prefix;

    static constexpr std::string_view name = "kept_patches"sv;
    static constexpr rule_parameter parameters[] = {{"mask_ratio", 0, 1'000'000}, {"prefix", 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        return detail::kept_frame(g, static_cast<std::uint64_t>(millionths), static_cast<std::uint64_t>(prefix));
    }
};

/// The pairs of `kept_patches`, each of which sees every other.
struct kept_squares {
    std::int32_t millionths;
    std::int32_t prefix;

    static constexpr std::string_view name = "kept_squares"sv;
    static constexpr rule_parameter parameters[] = {{"mask_ratio", 0, 1'000'000}, {"prefix", 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 of_frame(const grid& g) const {
        const uint128 kept = kept_patches{millionths, prefix}.of_frame(g);
        return kept * kept;
    }
};

/// The units of a frame by a table with two entries, Aria's queries: `units` where it has `patches` patches,
/// `other_units` where it has `other_patches`. The entries are equal where the table lists one number of patches; a
/// frame of other patches is `error`.
struct listed_units {
    std::int32_t patches;
    std::int32_t units;
    std::int32_t other_patches;
    std::int32_t other_units;

    static constexpr std::string_view name = "listed_units"sv;
    static constexpr rule_parameter parameters[] = {
        {"patches", 1}, {"units", 1}, {"other_patches", 1}, {"other_units", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        const std::uint64_t cells = g.frame_patches();
        return static_cast<std::uint64_t>(cells == static_cast<std::uint64_t>(patches)         ? units
                                          : cells == static_cast<std::uint64_t>(other_patches) ? other_units
                                                                                               : 0);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return g.t * g.frame_patches() != 0 && of_frame(g) == 0 ? grid_problem::not_listed : grid_problem::none;
    }
};

/// Cells of a grid after convolutions and samplers, of time apart; frames of a clip of sound.
struct level_cells : detail::resampled_cells {
    static constexpr std::string_view name = "level_cells"sv;
    static constexpr rule_parameter parameters[] = {
        {"field", -0x7FFF'FFFF},       {"stride", 1, 0x7FFF},    {"up", 1, 0x7FFF, 1}, {"add", -0x8000, 0x7FFF, 0},
        {"t_field", -0x800, 0x7FF, 1}, {"t_stride", 1, 0xFF, 1}, {"t_up", 1, 0xFF, 1}, {"t_add", -0x8000, 0x7FFF, 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const { return cells(g); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const audio_clip& clip) const {
        return of_axis(clip.frames, space());
    }
    constexpr void values(std::int64_t* to) const { common_values(to); }
    [[nodiscard]] static constexpr level_cells from(const std::int64_t* numbers) { return {of(numbers, 0)}; }
};

}  // namespace floptally::unit_rules

namespace floptally::unit {

/// Merged patches, each of `side` x `side`, and `line_ends` more units for each line of them.
template <whole_number Side, whole_number LineEnds = int>
[[nodiscard]] constexpr unit_rules::merged_patches merged_patches(Side side, LineEnds line_ends = 0) {
    return detail::from_numbers<unit_rules::merged_patches>(side, line_ends);
}

/// Merged patches, each of `side` x `side`, after the frames of a clip of video were pooled into one.
[[nodiscard]] constexpr unit_rules::pooled_patches pooled_patches(whole_number auto side) {
    return detail::from_numbers<unit_rules::pooled_patches>(side);
}

/// 1 for a grid with patches, however many frames it has.
[[nodiscard]] constexpr unit_rules::clips clips() { return {}; }

/// Patches; in clips of several frames each `side` x `side` of them are pooled into one.
[[nodiscard]] constexpr unit_rules::pooled_clips pooled_clips(whole_number auto side) {
    return detail::from_numbers<unit_rules::pooled_clips>(side);
}

/// Merged patches of every second frame, each together with those of the frame after it.
[[nodiscard]] constexpr unit_rules::merged_pairs merged_pairs(whole_number auto side) {
    return detail::from_numbers<unit_rules::merged_pairs>(side);
}

/// Merged patches that see each other within their frame.
[[nodiscard]] constexpr unit_rules::merged_squares merged_squares(whole_number auto side) {
    return detail::from_numbers<unit_rules::merged_squares>(side);
}

/// Cells that convolutions leave of a frame, in one level or in several, each of twice the stride of the one before.
[[nodiscard]] constexpr unit_rules::strided_cells strided_cells(whole_number auto field, whole_number auto stride) {
    return detail::from_numbers<unit_rules::strided_cells>(field, stride, 1);
}
[[nodiscard]] constexpr unit_rules::strided_cells strided_cells(whole_number auto field, whole_number auto stride,
                                                                whole_number auto levels) {
    return detail::from_numbers<unit_rules::strided_cells>(field, stride, levels);
}

/// Patches of a frame that remain where a share of them, in parts per million, is left out at random, and `prefix`
/// class tokens.
[[nodiscard]] constexpr unit_rules::kept_patches kept_patches(whole_number auto millionths, whole_number auto prefix) {
    return detail::from_numbers<unit_rules::kept_patches>(millionths, prefix);
}

/// The pairs of `kept_patches`, each of which sees every other.
[[nodiscard]] constexpr unit_rules::kept_squares kept_squares(whole_number auto millionths, whole_number auto prefix) {
    return detail::from_numbers<unit_rules::kept_squares>(millionths, prefix);
}

/// Units by a table with two entries, of frames of `patches` or `other_patches` patches; another frame is `error`.
[[nodiscard]] constexpr unit_rules::listed_units listed_units(whole_number auto patches, whole_number auto units,
                                                              whole_number auto other_patches,
                                                              whole_number auto other_units) {
    return detail::from_numbers<unit_rules::listed_units>(patches, units, other_patches, other_units);
}

/// Cells that convolutions and samplers leave of a grid, or of a clip of sound (by `space`).
[[nodiscard]] constexpr unit_rules::level_cells level_cells(const resampling& space, const resampling& time = {}) {
    return detail::from_numbers<unit_rules::level_cells>(space.field, space.stride, space.up, space.add, time.field,
                                                         time.stride, time.up, time.add);
}

}  // namespace floptally::unit
