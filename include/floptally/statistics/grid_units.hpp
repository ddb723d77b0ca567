// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/pair_rows.hpp>
#include <floptally/statistics/detail/resampled_cells.hpp>
#include <floptally/statistics/detail/statistic_call.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic_type.hpp>

/// @file
/// Units of grids (images, video clips): the tokens that vision towers multiply with their weights. Most structs count
/// the tokens of one frame (`of_frame`). This number is multiplied by the t frames of a grid. A struct with
/// `operator()(grid)` counts the tokens of a whole clip. Each struct is checked by enumeration in
/// tests/descriptors/tower.test.cpp and proven in tests/proofs.

namespace floptally::inline v0_3::unit_statistics {

/// Merged patches of `side` x `side` patches each, plus `line_ends` tokens at the end of each row of them. Throws
/// `error` unless height and width of a grid are multiples of `side`.
struct merged_patches {
    std::int32_t side;
    std::int32_t line_ends;

    static constexpr std::string_view name = "merged_patches"sv;
    static constexpr statistic_parameter parameters[] = {{.name = "spatial_merge_size", .least = 1},
                                                         {.name = "line_ends", .least = 0, .fallback = 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        const auto merge = static_cast<std::uint32_t>(side);
        return std::uint64_t{g.h / merge} * (g.w / merge + static_cast<std::uint64_t>(line_ends));
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        const auto merge = static_cast<std::uint32_t>(side);
        return g.h % merge != 0 || g.w % merge != 0 ? grid_problem::does_not_divide : grid_problem::none;
    }
};

/// Merged patches of `side` x `side` patches each, after the frames of a clip were pooled into one.
struct pooled_patches {
    std::int32_t side;

    static constexpr std::string_view name = "pooled_patches"sv;
    static constexpr statistic_parameter parameters[] = {{"merge_kernel_size", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const {
        return g.t == 0 ? 0 : merged_patches{side, 0}.of_frame(g);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return merged_patches{side, 0}.problem_of(g);
    }
};

/// The number of images or clips: 1 for each grid with patches, however many frames it has.
struct clips {
    static constexpr std::string_view name = "clips"sv;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const {
        return g.t * g.frame_patches() != 0 ? 1 : 0;
    }
};

/// The patches of a grid. In clips of several frames, `side` x `side` patches are pooled into one. Patches at the
/// border that do not fill such a square are left out.
struct pooled_clips {
    std::int32_t side;

    static constexpr std::string_view name = "pooled_clips"sv;
    static constexpr statistic_parameter parameters[] = {{"spatial_pool_stride", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        return g.t > 1 ? merged_patches{side, 0}.of_frame(g) : g.frame_patches();
    }
};

/// Merged patches of a video in which two consecutive frames are joined. An image counts as one frame. If a clip has an
/// odd number of frames, the last one is left out.
struct merged_pairs {
    std::int32_t side;

    static constexpr std::string_view name = "merged_pairs"sv;
    static constexpr statistic_parameter parameters[] = {{"spatial_merge_size", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const {
        return merged_patches{side, 0}.of_frame(g) * (g.t > 1 ? g.t / 2 : g.t);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return merged_patches{side, 0}.problem_of(g);
    }
};

/// The pairs of merged patches in the same frame.
struct merged_squares {
    std::int32_t side;

    static constexpr std::string_view name = "merged_squares"sv;
    static constexpr statistic_parameter parameters[] = {{"spatial_merge_size", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        const std::uint64_t units = merged_patches{side, 0}.of_frame(g);
        return units * units;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return merged_patches{side, 0}.problem_of(g);
    }
};

/// The output cells of convolutions over a frame: ⌊(patches − field)/stride⌋ + 1 along height and along width. With
/// several `levels`, the cells of all levels are added. Each level has twice the stride of the previous one. Throws
/// `error` for a grid without any output cell.
struct strided_cells {
    std::int32_t field;
    std::int32_t stride;
    std::int32_t levels;

    static constexpr std::string_view name = "strided_cells"sv;
    static constexpr statistic_parameter parameters[] = {
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

/// The patches of a frame that remain after a fraction of `millionths` ÷ 10⁶ is left out at random, plus `prefix` class
/// tokens. Their number is ⌊patches·(1 − fraction)⌋ in double precision, as in MAE (arXiv:2111.06377).
struct kept_patches {
    std::int32_t millionths;
    std::int32_t prefix;

    static constexpr std::string_view name = "kept_patches"sv;
    static constexpr statistic_parameter parameters[] = {{"mask_ratio", 0, 1'000'000}, {"prefix", 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        return detail::kept_frame(g, static_cast<std::uint64_t>(millionths), static_cast<std::uint64_t>(prefix));
    }
};

/// The attended pairs of the patches that `kept_patches` counts. Each such patch attends to all such patches.
struct kept_squares {
    std::int32_t millionths;
    std::int32_t prefix;

    static constexpr std::string_view name = "kept_squares"sv;
    static constexpr statistic_parameter parameters[] = {{"mask_ratio", 0, 1'000'000}, {"prefix", 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 of_frame(const grid& g) const {
        const uint128 patches = kept_patches{millionths, prefix}.of_frame(g);
        return patches * patches;
    }
};

/// The number of tokens of a frame: `units` for a frame of `patches` patches, and `other_units` for a frame of
/// `other_patches` patches. Aria's queries are an example. If only one size of frames is allowed, pass its numbers
/// twice. Throws `error` for a frame with another number of patches.
struct listed_units {
    std::int32_t patches;
    std::int32_t units;
    std::int32_t other_patches;
    std::int32_t other_units;

    static constexpr std::string_view name = "listed_units"sv;
    static constexpr statistic_parameter parameters[] = {
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

/// The number of cells of a grid after convolutions and upsamplers. The parameters `t_…` are for the axis of time, the
/// others for height and width. For an audio clip, it is the number of frames after convolutions and upsamplers.
struct level_cells : detail::resampled_cells {
    static constexpr std::string_view name = "level_cells"sv;
    static constexpr statistic_parameter parameters[] = {
        {"field", -0x7FFF'FFFF},       {"stride", 1, 0x7FFF},    {"up", 1, 0x7FFF, 1}, {"add", -0x8000, 0x7FFF, 0},
        {"t_field", -0x800, 0x7FF, 1}, {"t_stride", 1, 0xFF, 1}, {"t_up", 1, 0xFF, 1}, {"t_add", -0x8000, 0x7FFF, 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const { return cells(g); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const audio_clip& clip) const {
        return of_axis(clip.frames, space());
    }
    constexpr void values(std::int64_t* to) const { common_values(to); }
    [[nodiscard]] static constexpr level_cells from(const std::int64_t* numbers) { return {from_values(numbers, 0)}; }
};

}  // namespace floptally::unit_statistics

namespace floptally::inline v0_3::unit {

/// Returns the statistic of merged patches of `side` x `side` patches each, plus `line_ends` tokens at the end of each
/// row of them.
template <whole_number Side, whole_number LineEnds = int>
[[nodiscard]] constexpr unit_statistics::merged_patches merged_patches(Side side, LineEnds line_ends = 0) {
    return detail::from_numbers<unit_statistics::merged_patches>(side, line_ends);
}

/// Returns the statistic of merged patches after the frames of a video clip were pooled into one.
[[nodiscard]] constexpr unit_statistics::pooled_patches pooled_patches(whole_number auto side) {
    return detail::from_numbers<unit_statistics::pooled_patches>(side);
}

/// Returns the statistic that counts images and clips: it is 1 for each grid with patches.
[[nodiscard]] constexpr unit_statistics::clips clips() { return {}; }

/// Returns the statistic of patches, pooled by `side` x `side` in clips of several frames.
[[nodiscard]] constexpr unit_statistics::pooled_clips pooled_clips(whole_number auto side) {
    return detail::from_numbers<unit_statistics::pooled_clips>(side);
}

/// Returns the statistic of tokens of a video: two consecutive frames are joined, and `side` x `side` of their patches
/// are merged into one token.
[[nodiscard]] constexpr unit_statistics::merged_pairs merged_pairs(whole_number auto side) {
    return detail::from_numbers<unit_statistics::merged_pairs>(side);
}

/// Returns the statistic of the pairs of merged patches in the same frame.
[[nodiscard]] constexpr unit_statistics::merged_squares merged_squares(whole_number auto side) {
    return detail::from_numbers<unit_statistics::merged_squares>(side);
}

/// Returns the statistic of the output cells of convolutions over a frame, summed over `levels` if there are several.
[[nodiscard]] constexpr unit_statistics::strided_cells strided_cells(whole_number auto field,
                                                                     whole_number auto stride) {
    return detail::from_numbers<unit_statistics::strided_cells>(field, stride, 1);
}
[[nodiscard]] constexpr unit_statistics::strided_cells strided_cells(whole_number auto field, whole_number auto stride,
                                                                     whole_number auto levels) {
    return detail::from_numbers<unit_statistics::strided_cells>(field, stride, levels);
}

/// Returns the statistic of the patches of a frame that remain after a fraction of `millionths` ÷ 10⁶ is left out, plus
/// `prefix` class tokens.
[[nodiscard]] constexpr unit_statistics::kept_patches kept_patches(whole_number auto millionths,
                                                                   whole_number auto prefix) {
    return detail::from_numbers<unit_statistics::kept_patches>(millionths, prefix);
}

/// Returns the statistic of the pairs of the patches that `kept_patches` counts.
[[nodiscard]] constexpr unit_statistics::kept_squares kept_squares(whole_number auto millionths,
                                                                   whole_number auto prefix) {
    return detail::from_numbers<unit_statistics::kept_squares>(millionths, prefix);
}

/// Returns the statistic that counts `units` tokens in a frame of `patches` patches, and `other_units` in one of
/// `other_patches`. Throws `error` for a frame with another number of patches.
[[nodiscard]] constexpr unit_statistics::listed_units listed_units(whole_number auto patches, whole_number auto units,
                                                                   whole_number auto other_patches,
                                                                   whole_number auto other_units) {
    return detail::from_numbers<unit_statistics::listed_units>(patches, units, other_patches, other_units);
}

/// Returns the statistic of the cells of a grid after convolutions and upsamplers. `space` describes those over height
/// and width, `time` those over the frames. For an audio clip the statistic counts frames, and `space` describes the
/// convolutions over them.
[[nodiscard]] constexpr unit_statistics::level_cells level_cells(const resampling& space, const resampling& time = {}) {
    return detail::from_numbers<unit_statistics::level_cells>(space.field, space.stride, space.up, space.add,
                                                              time.field, time.stride, time.up, time.add);
}

}  // namespace floptally::unit
