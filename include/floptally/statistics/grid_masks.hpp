// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/pair_rows.hpp>
#include <floptally/statistics/detail/resampled_cells.hpp>
#include <floptally/statistics/grid_units.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Masks over grids (images, video clips), as in vision towers. Most masks count the pairs of one frame (`of_frame`).
/// This number is multiplied by the t frames of a grid. A mask with `operator()(grid)` counts the pairs of a whole
/// clip. Each mask is checked by enumeration in tests/descriptors/tower.test.cpp and proven in tests/proofs.

namespace floptally::inline v0_3::mask_statistics {

/// Every patch attends to the patches in its window of `patches` x `patches` in its frame. Windows at the right and
/// lower border may be smaller. With a `shift` above 0 the first window of each axis ends after `shift` patches.
struct grid_windows {
    std::int32_t patches;
    std::int32_t shift;

    static constexpr std::string_view name = "grid_windows"sv;
    static constexpr statistic_parameter parameters[] = {{.name = "window_size", .least = 1},
                                                         {.name = "shift", .least = 0, .fallback = 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        return detail::windowed_frame(g, static_cast<std::uint64_t>(patches), static_cast<std::uint64_t>(shift));
    }
};

/// Every patch of a clip attends to all patches of all frames: (t·h·w)² pairs. With `prefix` additional tokens in each
/// frame: (t·(h·w + prefix))² pairs.
struct clip_squares {
    std::int32_t prefix;

    static constexpr std::string_view name = "clip_squares"sv;
    static constexpr statistic_parameter parameters[] = {{.name = "prefix_tokens", .least = 0, .fallback = 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const grid& g) const {
        const std::uint64_t patches = g.t * g.frame_patches();
        const std::uint64_t tokens = patches == 0 ? 0 : patches + g.t * static_cast<std::uint64_t>(prefix);
        return tokens * tokens;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        const uint128 tokens = uint128{g.t} * (g.frame_patches() + static_cast<std::uint64_t>(prefix));
        return tokens > max_sequence_length ? grid_problem::too_large : grid_problem::none;
    }
};

/// Every cell of a frame attends to the cells in its window, after height and width of the frame were halved `level`
/// times, rounded up. `shifted` windows are shifted by half a window. With `shrinking`, a window that is at least as
/// wide as the shorter side shrinks to that side and is not shifted: Swin (arXiv:2103.14030, section 3.2).
struct level_windows {
    std::int32_t cells;
    std::int32_t level;
    std::int32_t shifted;
    std::int32_t shrinking;

    static constexpr std::string_view name = "level_windows"sv;
    static constexpr statistic_parameter parameters[] = {
        {"window_size", 1}, {"level", 0, 30}, {"shifted", 0, 1, 0}, {"shrinking", 0, 1, 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        return detail::level_frame(g, static_cast<std::uint64_t>(cells), level, shifted != 0, shrinking != 0);
    }
};

/// Attention with fewer keys than queries (Wang et al., arXiv:2102.12122, section 3.3). Each output cell of a
/// convolution is a query. A further convolution runs over the frame of these cells, and its output cells are the keys
/// and values. `unit_statistics::strided_cells` counts the query cells and the key cells.
struct reduced_pairs {
    std::int32_t keys_field;
    std::int32_t keys_stride;
    std::int32_t field;
    std::int32_t stride;

    static constexpr std::string_view name = "reduced_pairs"sv;
    static constexpr statistic_parameter parameters[] = {
        {"keys_field", 1}, {"keys_stride", 1}, {"field", 1}, {"stride", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        return detail::strided(g.h, field, stride) * detail::strided(g.w, field, stride) *
               (detail::strided(g.h, keys_field, keys_stride) * detail::strided(g.w, keys_field, keys_stride));
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return g.t * g.frame_patches() != 0 && of_frame(g) == 0 ? grid_problem::leaves_nothing : grid_problem::none;
    }
};

/// The pairs (patch, row) and (patch, column) of all patches with the rows and columns of their window. A window has
/// `patches` x `patches` patches, or is the whole frame if `patches` is 0. For each of these pairs, a score of the
/// relative position is computed (Li et al., arXiv:2112.01526, section 4.1).
struct window_lines {
    std::int32_t patches;

    static constexpr std::string_view name = "window_lines"sv;
    static constexpr statistic_parameter parameters[] = {{.name = "window_size", .least = 0, .fallback = 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        return g.w * squares(g.h) + g.h * squares(g.w);
    }

  private:
    /// Cuts an axis into windows, and returns the sum of the squares of the pieces' lengths.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t squares(std::uint64_t cells) const {
        const std::uint64_t side = patches == 0 ? cells : static_cast<std::uint64_t>(patches);
        return side == 0 ? 0 : cells / side * side * side + cells % side * (cells % side);
    }
};

/// Each patch sees the patches at its position in all frames of a clip (Bertasius et al., arXiv:2102.05095, section
/// 3.3).
struct across_frames {
    static constexpr std::string_view name = "across_frames"sv;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const grid& g) const {
        return uint128{g.t} * g.t * g.frame_patches();
    }
};

/// The pairs between tokens of one image that a causal mask lacks. Each token is paired with the later tokens of the
/// image. With a window of `window` tokens (−1: no window), each token is also paired with earlier tokens of the image
/// beyond the window. One token stands for `side` x `side` patches.
struct later_image_tokens {
    std::int32_t side;
    std::int32_t window;

    static constexpr std::string_view name = "later_image_tokens"sv;
    static constexpr statistic_parameter parameters[] = {{"side", 1},
                                                         {.name = "sliding_window", .least = -1, .fallback = -1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        const auto merge = static_cast<std::uint32_t>(side);
        return detail::later_within(std::uint64_t{g.h / merge} * (g.w / merge), window);
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::beyond_causal; }
    constexpr void check() const {
        if (window == 0) {
            throw error("sliding_window", "must be from 1 to 2147483647, or -1 for no window, got 0");
        }
    }
};

/// Every query of a frame attends to every patch of the frame. `unit_statistics::listed_units` gives the number of
/// queries of a frame.
struct listed_pairs : unit_statistics::listed_units {
    static constexpr std::string_view name = "listed_pairs"sv;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        return listed_units::of_frame(g) * g.frame_patches();
    }
};

/// The pairs of the cells that `unit_statistics::level_cells` counts. `level_reach` says to which cells a cell attends.
/// The cells of an audio clip are one row.
struct level_pairs : detail::resampled_cells {
    static constexpr std::string_view name = "level_pairs"sv;
    static constexpr statistic_parameter parameters[] = {
        {"field", -0x7FFF'FFFF},     {"stride", 1, 0x7FFF},         {"up", 1, 0x7FFF, 1},
        {"add", -0x8000, 0x7FFF, 0}, {"t_field", -0x800, 0x7FF, 1}, {"t_stride", 1, 0xFF, 1},
        {"t_up", 1, 0xFF, 1},        {"t_add", -0x8000, 0x7FFF, 0}, {"reach", 0, 4, 0}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr level_reach reach() const {
        return static_cast<level_reach>(of_time(28, 7));
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const grid& g) const {
        const uint128 all = cells(g);
        const uint128 frame = of_frame(g);
        return reach() == level_reach::frame    ? all * frame
               : reach() == level_reach::place  ? all * of_frames(g)
               : reach() == level_reach::past   ? all * frame * (of_frames(g) + 1) / 2
               : reach() == level_reach::before ? all * (of_frames(g) + 1) / 2
                                                : all * all;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const audio_clip& clip) const {
        const uint128 all = of_axis(clip.frames, space());
        return reach() == level_reach::place || reach() == level_reach::before ? all : all * all;
    }
    constexpr void values(std::int64_t* to) const {
        common_values(to);
        to[8] = static_cast<std::int64_t>(reach());
    }
    [[nodiscard]] static constexpr level_pairs from(const std::int64_t* numbers) {
        return {from_values(numbers, numbers[8])};
    }
};

}  // namespace floptally::mask_statistics
